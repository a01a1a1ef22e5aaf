//! What is said about a rule file, and where in it. Owns the shape of a finding, not the checks.

use serde::Serialize;

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The rule or layer works, but hardly as meant.
    Warning,
    /// The rule is skipped, or the layer refused.
    Error,
}

impl Severity {
    /// The stable spelling, lower case.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// One finding about a rule layer (DESIGN §6): file, line, column and field, what is wrong, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// The layer as its owner knows it: a file's path, or a name of the stored layer.
    pub source: String,
    /// The line, from 1; 0 = the layer as a whole.
    pub line: u32,
    /// The column, from 1; 0 = not known.
    pub column: u32,
    /// The field, as a path like `patterns[3].match.httpStatus`; empty for the layer as a whole.
    pub field: String,
    /// The rule, where its id could be read.
    pub rule_id: Option<String>,
    /// What is wrong, with the value that was read and the remedy. Lower case, no full stop.
    pub message: String,
}

impl std::fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.source)?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
        }
        if self.column > 0 {
            write!(f, ":{}", self.column)?;
        }
        write!(f, ": {}: ", self.severity.as_str())?;
        if let Some(id) = &self.rule_id {
            write!(f, "rule `{id}`: ")?;
        }
        if !self.field.is_empty() {
            write!(f, "{}: ", self.field)?;
        }
        f.write_str(&self.message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_reads_like_a_compiler_message() {
        let mut finding = Diagnostic {
            severity: Severity::Error,
            source: "acme/rules.yaml".to_owned(),
            line: 4,
            column: 9,
            field: "patterns[0].match.httpStatus".to_owned(),
            rule_id: Some("mine".to_owned()),
            message: "expected a number".to_owned(),
        };
        assert_eq!(
            finding.to_string(),
            "acme/rules.yaml:4:9: error: rule `mine`: patterns[0].match.httpStatus: expected a number"
        );
        (finding.line, finding.column, finding.rule_id) = (0, 0, None);
        finding.field.clear();
        assert_eq!(finding.to_string(), "acme/rules.yaml: error: expected a number");
    }
}
