//! SQLSTATEs in texts: five characters that are one because of where they stand.

/// Where five characters stand.
pub(super) struct Place<'a> {
    pub before_previous: &'a str,
    pub previous: &'a str,
    pub is_behind_number: bool,
    /// What lies between the word before, or the start of the text, and them.
    pub gap: &'a str,
    pub after: &'a str,
}

impl Place<'_> {
    /// Whether five characters of the right shape are a SQLSTATE here.
    ///
    /// Digits alone may be anything: they need a name, the class of one, or a frame that only databases print.
    pub(super) fn holds(&self, word: &str) -> bool {
        self.is_named(word)
            || (self.is_behind_number
                && self.gap == " ("
                && self.after.starts_with(')')
                && is_sql_state(word))
            || self.opens_tuple(word)
            || self.is_severitys(word)
    }

    /// `SQLSTATE[42S02]`, `pgcode: 42P01`, `SQL state: 42P01`, `state: "40001"`.
    fn is_named(&self, word: &str) -> bool {
        const NAMES: [&str; 3] = ["SQLSTATE", "sql_state", "pgcode"];
        if self.gap.len() > 8 {
            return false;
        }
        NAMES.iter().any(|it| self.previous.eq_ignore_ascii_case(it))
            || (self.previous == "state" && is_sql_state(word))
            || (self.previous.eq_ignore_ascii_case("state")
                && self.before_previous.eq_ignore_ascii_case("sql"))
    }

    /// ODBC's `('42S02', "[42S02] …")`: the state, and a text that begins with it.
    fn opens_tuple(&self, word: &str) -> bool {
        let is_quoted = |quote: char| {
            let before = self.gap.strip_suffix(quote).is_some_and(|it| it.ends_with('('));
            before && self.after.strip_prefix(quote).is_some_and(|it| it.starts_with(", "))
        };
        let has_text = || {
            let rest = self.after.get(3..).unwrap_or_default().trim_start_matches(['u', 'b']);
            let Some(text) = rest.strip_prefix(['"', '\'']) else { return false };
            has_letter(word) || text.strip_prefix('[').is_some_and(|it| it.starts_with(word))
        };
        (is_quoted('\'') || is_quoted('"')) && has_text()
    }

    /// The fields of PostgreSQL's protocol as Redshift's and other drivers print them: `{'S': 'ERROR', 'C': '42P01', …}`.
    fn is_severitys(&self, word: &str) -> bool {
        self.previous == "C"
            && matches!(self.gap, "': '" | "\": \"" | "':'" | "\":\"")
            && self.after.starts_with(['\'', '"'])
            && (has_letter(word) || ["ERROR", "FATAL", "PANIC"].contains(&self.before_previous))
    }
}

/// Five digits and capitals, of which at least one is a digit.
pub(super) fn has_shape(text: &str) -> bool {
    let is_part = |it: u8| it.is_ascii_digit() || it.is_ascii_uppercase();
    text.len() == 5 && text.bytes().all(is_part) && text.bytes().any(|it| it.is_ascii_digit())
}

fn has_letter(text: &str) -> bool {
    text.bytes().any(|it| it.is_ascii_uppercase())
}

/// Five characters, of which at least one is a digit. Digits alone may be anything: only the classes that databases print
/// as such count.
pub(super) fn is_sql_state(text: &str) -> bool {
    const CLASSES_OF_DIGITS: [&str; 12] =
        ["08", "22", "23", "25", "28", "40", "42", "53", "54", "55", "57", "58"];
    has_shape(text) && (has_letter(text) || CLASSES_OF_DIGITS.iter().any(|it| text.starts_with(it)))
}
