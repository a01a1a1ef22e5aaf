//! The scanner that finds secrets in text.

use super::{EMAIL, SECRET};

/// Ends of names whose values are secret, without `_`, `-` and `.`, in lower case.
const SECRET_NAMES: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "pwd",
    "secret",
    "token",
    "apikey",
    "accesskey",
    "accesskeyid",
    "secretkey",
    "privatekey",
    "signingkey",
    "encryptionkey",
    "credential",
    "credentials",
    "authorization",
    "sessionid",
    "sessionkey",
    "signature",
    "clientsecret",
    "connectionstring",
    "otp",
];

/// Names whose value reaches to the end of the line.
const WHOLE_LINE_NAMES: &[&str] = &["cookie", "setcookie", "authorization", "proxyauthorization"];

/// Beginnings of tokens of well-known services, with the least length of such a token.
const TOKEN_BEGINNINGS: &[(&str, usize)] = &[
    ("sk-", 16),
    ("sk_live_", 16),
    ("sk_test_", 16),
    ("rk_live_", 16),
    ("pk_live_", 16),
    ("whsec_", 16),
    ("ghp_", 20),
    ("gho_", 20),
    ("ghu_", 20),
    ("ghs_", 20),
    ("ghr_", 20),
    ("github_pat_", 20),
    ("glpat-", 16),
    ("xoxb-", 12),
    ("xoxp-", 12),
    ("xoxa-", 12),
    ("xoxs-", 12),
    ("xoxe-", 12),
    ("xapp-", 12),
    ("AKIA", 16),
    ("ASIA", 16),
    ("AIza", 30),
    ("ya29.", 16),
    ("npm_", 20),
    ("pypi-", 20),
    ("hf_", 20),
    ("SG.", 20),
    ("dop_v1_", 20),
    ("shpat_", 20),
    ("lin_api_", 20),
    ("ntn_", 20),
    ("EAAC", 30),
];

/// One pass over a text. Every byte is looked at a constant number of times.
pub(super) struct Scanner<'a> {
    text: &'a str,
    at: usize,
    /// Up to here the text is in `out`.
    copied: usize,
    out: String,
}

impl<'a> Scanner<'a> {
    pub(super) const fn new(text: &'a str) -> Self {
        Self { text, at: 0, copied: 0, out: String::new() }
    }

    pub(super) fn run(mut self) -> String {
        while self.at < self.text.len() {
            if self.private_key() || self.userinfo() {
                continue;
            }
            let word = self.word();
            if word.is_empty() {
                self.at += self.rest().chars().next().map_or(1, char::len_utf8);
                continue;
            }
            self.judge(word);
        }
        self.copy_to(self.text.len());
        self.out
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// The word that begins here.
    fn word(&self) -> &'a str {
        let rest = self.rest();
        let end = rest.bytes().position(|it| !is_word(it)).unwrap_or(rest.len());
        rest.get(..end).unwrap_or_default()
    }

    fn copy_to(&mut self, end: usize) {
        self.out.push_str(self.text.get(self.copied..end).unwrap_or_default());
        self.copied = end;
    }

    /// Replaces from `from` to `to` and goes on behind.
    fn replace(&mut self, from: usize, to: usize, by: &str) {
        self.copy_to(from);
        self.out.push_str(by);
        self.copied = to;
        self.at = to;
    }

    fn judge(&mut self, word: &'a str) {
        let from = self.at;
        let after = from + word.len();
        if self.text.get(after..).is_some_and(|it| it.starts_with('@')) && self.email(from, after) {
            return;
        }
        if is_token(word) {
            self.replace(from, after, SECRET);
            return;
        }
        self.at = after;
        if word.eq_ignore_ascii_case("bearer") || word.eq_ignore_ascii_case("basic") {
            self.scheme();
            return;
        }
        let name = squeezed(word);
        if WHOLE_LINE_NAMES.contains(&name.as_str()) {
            self.value(true);
        } else if SECRET_NAMES.iter().any(|it| name.ends_with(it)) {
            self.value(false);
        }
    }

    /// `local@domain.tld` → masked.
    fn email(&mut self, from: usize, at_sign: usize) -> bool {
        let domain = self.text.get(at_sign + 1..).unwrap_or_default();
        let end = domain.bytes().position(|it| !it.is_ascii_alphanumeric() && it != b'-' && it != b'.');
        let domain =
            domain.get(..end.unwrap_or(domain.len())).unwrap_or_default().trim_end_matches(['.', '-']);
        if !domain.contains('.') || domain.starts_with('.') {
            return false;
        }
        self.replace(from, at_sign + 1 + domain.len(), EMAIL);
        true
    }

    /// `Bearer VALUE`, `Basic VALUE`: the value, if it looks like one.
    fn scheme(&mut self) {
        let rest = self.rest();
        let blanks = rest.len() - rest.trim_start_matches(' ').len();
        let value = rest.get(blanks..).unwrap_or_default();
        let end = value
            .bytes()
            .position(|it| !is_word(it) && !matches!(it, b'/' | b'=' | b'~'))
            .unwrap_or(value.len());
        let value = value.get(..end).unwrap_or_default();
        let looks_so = value.len() >= 8
            && value.bytes().any(|it| it.is_ascii_digit() || matches!(it, b'=' | b'_' | b'/'));
        if blanks > 0 && (looks_so || value.len() >= 24) {
            let from = self.at + blanks;
            self.replace(from, from + value.len(), SECRET);
        }
    }

    /// The value behind a telling name: `=` or `:`, perhaps with quotes.
    fn value(&mut self, whole_line: bool) {
        let rest = self.rest();
        let behind_name = rest.trim_start_matches(['"', '\'', '\\', ']', ' ']);
        let Some(behind_sign) =
            behind_name.strip_prefix("=>").or_else(|| behind_name.strip_prefix(['=', ':']))
        else {
            return;
        };
        let value = behind_sign.trim_start_matches([' ', '\\', '[']);
        let (value, quote) = match value.chars().next() {
            Some(quote @ ('"' | '\'')) => (value.get(1..).unwrap_or_default(), Some(quote)),
            _ => (value, None),
        };
        let end = match (quote, whole_line) {
            (Some(quote), _) => value.find([quote, '\n']),
            (None, true) => value.find(['\n', '\r', '"', '\'']),
            (None, false) => {
                value.find([' ', '\n', '\r', '\t', '"', '\'', ',', ';', '&', '<', '>', ')', ']', '}'])
            }
        };
        let value = value.get(..end.unwrap_or(value.len())).unwrap_or_default().trim_end_matches('\\');
        let from = offset(self.text, value);
        if !value.is_empty()
            && value != SECRET
            && !matches!(value, "null" | "None" | "nil" | "true" | "false")
        {
            self.replace(from, from + value.len(), SECRET);
        }
    }

    /// `scheme://user:password@host` → the part before the at sign masked.
    fn userinfo(&mut self) -> bool {
        let Some(rest) = self.rest().strip_prefix("://") else { return false };
        let from = self.at + 3;
        let end = rest.find(['/', '?', '#', ' ', '\n', '"', '\'', '>', ')', ',']).unwrap_or(rest.len());
        match rest.get(..end).and_then(|it| it.rfind('@')) {
            Some(at_sign) if at_sign > 0 => self.replace(from, from + at_sign, SECRET),
            _ => self.at = from,
        }
        true
    }

    /// A private key in PEM form.
    fn private_key(&mut self) -> bool {
        let rest = self.rest();
        if !rest.starts_with("-----BEGIN ") {
            return false;
        }
        let first_line = rest.lines().next().unwrap_or_default();
        if !first_line.contains("PRIVATE KEY") {
            return false;
        }
        let body = first_line.len();
        let end = rest.get(body..).and_then(|it| it.find("-----END ")).map_or(rest.len(), |it| body + it);
        // A key printed on one line has its end on the first line.
        let end = rest.get(11..).and_then(|it| it.find("-----END ")).map_or(end, |it| (it + 11).min(end));
        self.replace(self.at, self.at + end, SECRET);
        true
    }
}

/// Where `value`, a slice of `text`, begins in it.
fn offset(text: &str, value: &str) -> usize {
    (value.as_ptr() as usize).saturating_sub(text.as_ptr() as usize).min(text.len())
}

const fn is_word(it: u8) -> bool {
    it.is_ascii_alphanumeric() || matches!(it, b'_' | b'-' | b'.' | b'+' | b'%')
}

fn is_token(word: &str) -> bool {
    TOKEN_BEGINNINGS.iter().any(|(beginning, least)| word.len() >= *least && word.starts_with(beginning))
        || is_json_web_token(word)
}

/// Three parts, the first of which is the beginning of a JSON object in base64.
fn is_json_web_token(word: &str) -> bool {
    word.starts_with("eyJ") && word.len() >= 20 && word.bytes().filter(|it| *it == b'.').count() >= 2
}

fn squeezed(name: &str) -> String {
    // Names are short: the end of a long word is enough to know it by.
    let end = crate::limits::tail(name, 64);
    end.chars().filter(|it| !matches!(it, '_' | '-' | '.')).map(|it| it.to_ascii_lowercase()).collect()
}
