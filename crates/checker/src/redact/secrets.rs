//! The scanner that finds secrets in text.
//!
//! One pass: every byte is looked at a constant number of times. A mark that already stands for a secret is a whole that
//! nothing looks into, so that masking twice changes nothing.

use super::known::{Reach, is_token, looks_secret, scheme, telling};
use super::{EMAIL, SECRET};

/// What begins and ends a key in PEM form.
const PEM_BEGIN: &str = "-----BEGIN ";
pub(super) const PEM_END: &str = "-----END ";

/// Bytes in which the rest of the first line of a key in PEM form stands.
const PEM_LINE: usize = 64;

/// A part of a text that a mark stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Part {
    /// Where it begins to be known by: the name before it, or itself.
    pub(super) context: usize,
    /// Its first byte.
    pub(super) from: usize,
    /// The byte behind it.
    pub(super) to: usize,
    /// The mark.
    pub(super) by: &'static str,
}

/// The secrets of a text, in its order; they do not overlap.
pub(super) fn find(text: &str) -> Vec<Part> {
    let mut scanner = Scanner { text, at: 0, parts: Vec::new() };
    scanner.run();
    scanner.parts
}

/// Where in a text the scanner is, and what it found before.
pub(super) struct Scanner<'a> {
    pub(super) text: &'a str,
    pub(super) at: usize,
    parts: Vec<Part>,
}

impl<'a> Scanner<'a> {
    fn run(&mut self) {
        while let Some(byte) = self.text.as_bytes().get(self.at) {
            let is_special = match byte {
                b'-' => self.private_key(self.at) || self.end_of_key(),
                b':' => self.userinfo(),
                b'[' => self.mark(),
                _ => false,
            };
            if is_special {
                continue;
            }
            let word = self.word();
            if word.is_empty() {
                self.at += self.rest().chars().next().map_or(1, char::len_utf8);
                continue;
            }
            self.judge(word);
        }
    }

    pub(super) fn from(&self, at: usize) -> &'a str {
        self.text.get(at..).unwrap_or_default()
    }

    fn rest(&self) -> &'a str {
        self.from(self.at)
    }

    /// The word that begins here, without the first dashes of a key that follows it.
    fn word(&self) -> &'a str {
        let rest = self.rest();
        let end = rest.bytes().position(|it| !is_word(it)).unwrap_or(rest.len());
        let word = rest.get(..end).unwrap_or_default();
        let without = word.strip_suffix("-----BEGIN").or_else(|| word.strip_suffix("-----END"));
        without.filter(|it| !it.is_empty()).unwrap_or(word)
    }

    /// Notes a secret and goes on behind it.
    pub(super) fn replace(&mut self, context: usize, from: usize, to: usize, by: &'static str) {
        self.parts.push(Part { context, from, to, by });
        self.at = to;
    }

    fn judge(&mut self, word: &'a str) {
        let from = self.at;
        let after = from + word.len();
        // The first letters may belong to an escape: `\nghp_…` in the text of a JSON value, `%3Dghp_…` in an address.
        let skipped = self.escape_before(from).unwrap_or(0);
        let context = from.saturating_sub(usize::from(skipped > 0));
        let bare = word.get(skipped..).unwrap_or_default();
        if bare.is_empty() {
            self.at = after;
            return;
        }
        if self.email(context, from + skipped, after) {
            return;
        }
        if is_token(bare) {
            self.replace(context, from + skipped, after, SECRET);
            return;
        }
        self.at = after;
        let is_scheme = bare.eq_ignore_ascii_case("bearer") || bare.eq_ignore_ascii_case("basic");
        if is_scheme && self.follows(context) {
            return;
        }
        // A flag of a command line has its value behind a blank.
        let is_flag = word.starts_with("--");
        if !is_flag && !self.has_value() {
            return;
        }
        if let Some(reach) = telling(word).or_else(|| telling(bare))
            && !self.value(context, reach)
            && is_flag
        {
            self.follows(context);
        }
    }

    /// How many bytes from here belong to an escape that began before.
    fn escape_before(&self, at: usize) -> Option<usize> {
        let (before, after) = (self.text.as_bytes().get(..at)?, self.text.as_bytes().get(at..)?);
        let is_hex = |n: usize| after.get(..n).is_some_and(|it| it.iter().all(u8::is_ascii_hexdigit));
        match (before.last()?, after.first()?) {
            (b'\\', b'n' | b'r' | b't' | b'b' | b'f') => Some(1),
            (b'\\', b'u') => {
                after.get(1..5).is_some_and(|it| it.iter().all(u8::is_ascii_hexdigit)).then_some(5)
            }
            (b'%', _) => is_hex(2).then_some(2),
            _ => None,
        }
    }

    /// A mark that stands for a secret already. What is written right behind a letter is the name of a field:
    /// `user[secret]=…`.
    fn mark(&mut self) -> bool {
        let rest = self.rest();
        let length = if rest.starts_with(EMAIL) {
            EMAIL.len()
        } else if rest.starts_with(SECRET) && !self.is_index(self.at) {
            SECRET.len()
        } else {
            return false;
        };
        self.at += length;
        true
    }

    /// Whether the bracket at `at` belongs to a name before it, and not to an escape.
    fn is_index(&self, at: usize) -> bool {
        let before = |n: usize| at.checked_sub(n).and_then(|it| self.text.as_bytes().get(it)).copied();
        if !before(1).is_some_and(is_word) {
            return false;
        }
        let is_escape = |n: usize| at.checked_sub(n).and_then(|it| self.escape_before(it)) == Some(n);
        !(is_escape(1) || is_escape(2) || is_escape(5))
    }

    /// `local@domain.tld` → masked, also where the at sign is written `%40`.
    fn email(&mut self, context: usize, from: usize, after: usize) -> bool {
        let behind = self.from(after);
        let Some(domain) = behind.strip_prefix('@').or_else(|| behind.strip_prefix("%40")) else {
            return false;
        };
        let end = domain.bytes().position(|it| !it.is_ascii_alphanumeric() && it != b'-' && it != b'.');
        let domain_at = after + behind.len() - domain.len();
        let domain = domain.get(..end.unwrap_or(domain.len())).unwrap_or_default();
        let domain =
            domain.split_once("-----").map_or(domain, |(before, _)| before).trim_end_matches(['.', '-']);
        if !domain.contains('.') || domain.starts_with('.') {
            return false;
        }
        self.replace(context, from, domain_at + domain.len(), EMAIL);
        true
    }

    /// `Bearer VALUE`, `Basic VALUE`: the value, if it looks like one.
    fn follows(&mut self, context: usize) -> bool {
        let rest = self.rest();
        let value = rest.trim_start_matches(' ');
        let from = self.at + rest.len() - value.len();
        let value = value.get(..word_end(value)).unwrap_or_default().trim_end_matches(['.', ':', '!', '?']);
        // No credential holds a bracket; a mark does.
        if from == self.at || value.contains('[') {
            return false;
        }
        let to = from + value.len();
        // The parameter of a challenge, as in `Bearer realm="x"`.
        let bare = value.trim_end_matches('=');
        let is_name = |it: &str| it.bytes().all(|it| it.is_ascii_lowercase() || matches!(it, b'_' | b'-'));
        let is_quoted = self.from(to).starts_with(['"', '\'', '\\']);
        let is_parameter = bare.split_once('=').is_some_and(|(name, _)| is_name(name))
            || (bare.len() < value.len() && is_quoted && is_name(bare));
        if is_parameter || !looks_secret(value) {
            return false;
        }
        self.replace(context, from, to, SECRET);
        true
    }

    /// Where the credentials end whose scheme stands at `at`, as in `Bearer VALUE`; `None` = there is no scheme.
    pub(super) fn end_of_scheme(&self, at: usize) -> Option<usize> {
        let rest = self.from(at);
        let word = rest.get(..word_end(rest))?;
        let reach = scheme(word)?;
        let behind = rest.get(word.len()..)?;
        let value = behind.trim_start_matches(' ');
        let from = at + rest.len() - value.len();
        if from == at + word.len() {
            return None;
        }
        match reach {
            Reach::Line => Some(self.end_of_line(from)).filter(|it| *it > from),
            Reach::Word => {
                let value = value.get(..word_end(value)).unwrap_or_default();
                let is_one = !super::known::says_nothing(value);
                is_one.then_some(from + value.len())
            }
        }
    }

    /// `scheme://user:password@host` → the part before the at sign masked.
    fn userinfo(&mut self) -> bool {
        let Some(rest) = self.rest().strip_prefix("://") else { return false };
        let from = self.at + 3;
        // A password may hold what separates the parts of an address; another address does not begin in one.
        let ends = |(n, it)| match it {
            b' ' | b'\n' | b'"' | b'\'' | b'>' | b')' | b',' => true,
            b':' => rest.as_bytes().get(n..n + 3) == Some(b"://"),
            // A mark that is not all of it, or an address of IPv6 behind it.
            b'[' => n > 0,
            _ => false,
        };
        let end = rest.bytes().enumerate().position(ends).unwrap_or(rest.len());
        let all = rest.get(..end).unwrap_or_default();
        let host_end = |it: &str| it.find(['/', '?', '#']).unwrap_or(it.len());
        let authority = all.get(..host_end(all)).unwrap_or_default();
        let at_sign = authority.rfind('@').or_else(|| {
            let (_, port) = authority.split_once(':')?;
            let first = all.find('@').filter(|_| !port.bytes().all(|it| it.is_ascii_digit()))?;
            let behind = all.get(first..)?;
            Some(first + behind.get(..host_end(behind))?.rfind('@')?)
        });
        match at_sign {
            Some(at_sign) if at_sign > 0 => self.replace(self.at, from, from + at_sign, SECRET),
            _ => self.at = from,
        }
        true
    }

    /// A private key in PEM form that begins at `at`.
    pub(super) fn private_key(&mut self, at: usize) -> bool {
        self.private_key_behind(at, at)
    }

    /// As [`Scanner::private_key`], known by what stands at `context`.
    pub(super) fn private_key_behind(&mut self, context: usize, at: usize) -> bool {
        let rest = self.from(at);
        if !is_pem_line(rest, PEM_BEGIN) {
            return false;
        }
        let end = rest.find(PEM_END).unwrap_or(rest.len());
        self.replace(context, at, at + end, SECRET);
        true
    }

    /// The end of a private key whose beginning was cut off: its lines before it are masked.
    fn end_of_key(&mut self) -> bool {
        /// Fewer bytes are a word of prose.
        const LEAST: usize = 16;
        if !is_pem_line(self.rest(), PEM_END) {
            return false;
        }
        let at = self.at;
        let done = self.parts.last().map_or(0, |it| it.to);
        let before = self.text.get(done..at).unwrap_or_default();
        let mut lines = before;
        while let Some(byte) = lines.bytes().next_back() {
            let is_line =
                byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'\\' | b'\n' | b'\r');
            // Keys in YAML are indented.
            let shorter = if is_line {
                lines.get(..lines.len() - 1)
            } else {
                Some(lines.trim_end_matches([' ', '\t']))
                    .filter(|it| it.len() < lines.len() && it.ends_with('\n'))
            };
            let Some(shorter) = shorter else { break };
            lines = shorter;
        }
        let mut key = before.get(lines.len()..).unwrap_or_default();
        // Its first letters may belong to an escape.
        while let Some(behind) =
            ["\\n", "\\r", "\\t", "\\", "\n", "\r", "\t", " "].iter().find_map(|it| key.strip_prefix(it))
        {
            key = behind;
        }
        key = key.get(self.escape_before(at - key.len()).unwrap_or(0)..).unwrap_or_default();
        let from = at - key.len();
        if key.len() >= LEAST {
            self.replace(from, from, at, SECRET);
        }
        self.at = at + PEM_END.len();
        true
    }
}

/// Whether a line of a private key that begins so stands here.
fn is_pem_line(rest: &str, beginning: &str) -> bool {
    let Some(behind) = rest.strip_prefix(beginning) else { return false };
    let is_kind = |it: u8| it.is_ascii_uppercase() || it.is_ascii_digit() || it == b' ';
    crate::limits::head(behind, PEM_LINE)
        .split_once("-----")
        .is_some_and(|(kind, _)| kind.contains("PRIVATE KEY") && kind.bytes().all(is_kind))
}

/// Where a value that is not quoted ends.
pub(super) fn word_end(text: &str) -> usize {
    const ENDS: &[char] = &[' ', '\n', '\r', '\t', '"', '\'', ',', ';', '&', '<', '>', ')', ']', '}'];
    text.find(ENDS).unwrap_or(text.len())
}

/// Whether a byte belongs to a word: a name, a token, the part of an address before its at sign.
const fn is_word(it: u8) -> bool {
    it.is_ascii_alphanumeric() || matches!(it, b'_' | b'-' | b'.' | b'+')
}
