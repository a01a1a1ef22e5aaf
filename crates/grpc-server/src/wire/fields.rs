//! Collecting what is wrong with a request (all of it at once, DESIGN §5) and what is only odd.

use agrajag_proto::v1::{Warning, WarningCode};

use crate::error::{Error, Violation};

/// Bytes of an id or a name.
pub(crate) const MAX_ID: usize = 256;

/// Bytes of the name of who writes, and of a signature.
pub(crate) const MAX_NAME: usize = 128;

/// Characters of a note or reason.
pub(crate) const MAX_NOTE: usize = 500;

/// More warnings than this in one answer would only bury the first ones.
const MAX_WARNINGS: usize = 20;

/// What is wrong: the request is refused.
#[derive(Debug, Default)]
pub(crate) struct Violations(Vec<Violation>);

/// What is odd: the request is answered all the same.
#[derive(Debug, Default)]
pub(crate) struct Warnings(Vec<Warning>);

impl Violations {
    /// `message` goes on after the field's name: "is empty; …".
    pub(crate) fn push(&mut self, field: impl Into<String>, message: impl Into<String>) {
        self.0.push(Violation { field: field.into(), message: message.into() });
    }

    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The error, if there is anything wrong.
    pub(crate) fn finish(self) -> Result<(), Error> {
        if self.0.is_empty() { Ok(()) } else { Err(Error::InvalidField(self.0)) }
    }

    /// The first thing that is wrong, for an item of a batch.
    pub(crate) fn first(self) -> Option<Violation> {
        self.0.into_iter().next()
    }

    /// A text that must be there.
    pub(crate) fn required(&mut self, field: &str, value: &str, max: usize) {
        if value.is_empty() {
            self.push(field, format!("is empty; give 1 to {max} bytes"));
        } else {
            self.optional(field, value, max);
        }
    }

    /// A text that may be there.
    pub(crate) fn optional(&mut self, field: &str, value: &str, max: usize) {
        if value.len() > max {
            self.push(field, format!("is {} bytes long; at most {max} are allowed", value.len()));
        } else if let Some(odd) = value.chars().find(|it| it.is_control()) {
            self.push(field, format!("holds the control character {odd:?}; leave it out"));
        }
    }

    /// A note for people: line breaks are fine, the length counts in characters.
    pub(crate) fn note(&mut self, field: &str, value: &str) {
        let n = value.chars().count();
        if n > MAX_NOTE {
            self.push(field, format!("is {n} characters long; at most {MAX_NOTE} are allowed"));
        } else if value.contains('\0') {
            self.push(field, "holds a zero character; leave it out");
        }
    }
}

impl Warnings {
    pub(crate) fn push(&mut self, code: WarningCode, field: impl Into<String>, message: impl Into<String>) {
        if self.0.len() < MAX_WARNINGS {
            self.0.push(Warning { code: code.into(), field: field.into(), message: message.into() });
        }
    }

    pub(crate) fn into_vec(self) -> Vec<Warning> {
        self.0
    }

    #[cfg(test)]
    pub(crate) fn codes(&self) -> Vec<(WarningCode, &str)> {
        self.0.iter().map(|it| (it.code(), it.field.as_str())).collect()
    }
}

impl From<Vec<Warning>> for Warnings {
    fn from(mut warnings: Vec<Warning>) -> Self {
        warnings.truncate(MAX_WARNINGS);
        Self(warnings)
    }
}

/// `None` for the empty text, which is how the wire says absent.
pub(crate) fn given(text: String) -> Option<String> {
    if text.is_empty() { None } else { Some(text) }
}
