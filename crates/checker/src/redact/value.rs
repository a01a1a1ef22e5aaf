//! The values behind telling names: `name=value`, `"name": "value"`, lists, headers, elements of XML.

use super::known::{Reach, says_nothing};
use super::secrets::{PEM_END, Scanner, word_end};
use super::{EMAIL, SECRET};
use crate::limits;

/// Bytes in which the end of an element or an object is looked for, so that many without one cost little.
const MOST_LOOKED_AT: usize = 2_048;

impl Scanner<'_> {
    /// Whether a value may stand behind the word that ends here.
    pub(super) fn has_value(&self) -> bool {
        let rest = self.from(self.at);
        rest.starts_with('>') || behind_sign(rest).is_some()
    }

    /// The value behind the name that ends here. Whether one stands there.
    pub(super) fn value(&mut self, context: usize, reach: Reach) -> bool {
        let Some(sign) = behind_sign(self.from(self.at)) else {
            return self.element(context);
        };
        let at = self.text.len() - sign.len();
        self.given(context, at, reach);
        true
    }

    /// `<name>value</name>`.
    fn element(&mut self, context: usize) -> bool {
        let Some(rest) = self.from(self.at).strip_prefix('>') else { return false };
        let value = limits::head(rest, MOST_LOOKED_AT);
        let end = value.find(['<', '\n']).unwrap_or(value.len());
        let (value, behind) = rest.split_at_checked(end).unwrap_or_default();
        // The closing tag may have been cut off.
        let is_tag = context.checked_sub(1).and_then(|it| self.text.as_bytes().get(it)) == Some(&b'<');
        let is_closed = behind.starts_with("</") || (is_tag && (behind.is_empty() || behind == "<"));
        if !is_closed || value == SECRET || says_nothing(value) {
            return false;
        }
        let from = self.at + 1;
        self.replace(context, from, from + end, SECRET);
        true
    }

    /// A value that begins at `at`: masked as far as it reaches.
    fn given(&mut self, context: usize, at: usize, reach: Reach) {
        self.at = at;
        let rest = self.from(at);
        let bare = rest.trim_start_matches('\\');
        let n_slashes = rest.len() - bare.len();
        if let Some(quote @ ('"' | '\'')) = bare.chars().next() {
            let from = at + n_slashes + 1;
            if !self.key(context, from) {
                let to = self.end_of_quoted(from, quote, n_slashes);
                self.mask(context, from, to);
            }
            return;
        }
        // Behind `name:\n` stands nothing.
        if n_slashes % 2 == 1 && bare.starts_with(['n', 'r', 't']) {
            return;
        }
        if self.key(context, at) {
            return;
        }
        let is_mark = rest.starts_with(SECRET) || rest.starts_with(EMAIL);
        match (rest.bytes().next(), reach) {
            (Some(b'['), _) if !is_mark && (reach == Reach::Word || is_quoted_list(rest)) => {
                self.list(context, at, reach);
            }
            (Some(b'{'), Reach::Line) => self.mask(context, at, end_of_object(self.text, at)),
            // The names inside speak for themselves.
            (Some(b'{'), Reach::Word) => {}
            (_, Reach::Line) if rest.starts_with(SECRET) => self.at += SECRET.len(),
            (_, Reach::Line) => self.mask(context, at, self.end_of_line(at)),
            (_, Reach::Word) => {
                let to = self.end_of_scheme(at).unwrap_or_else(|| self.end_of_word(at));
                self.mask(context, at, to);
            }
        }
    }

    /// A private key, or the mark that stands for one already.
    fn key(&mut self, context: usize, at: usize) -> bool {
        if self.private_key_behind(context, at) {
            return true;
        }
        let is_mark = self.from(at).strip_prefix(SECRET).is_some_and(|it| it.starts_with(PEM_END));
        if is_mark {
            self.at = at + SECRET.len();
        }
        is_mark
    }

    fn mask(&mut self, context: usize, from: usize, to: usize) {
        let value = self.text.get(from..to).unwrap_or_default();
        if value != SECRET && !says_nothing(value) {
            self.replace(context, from, to, SECRET);
        }
        self.at = to;
    }

    /// `[a, "b"]`: each of them.
    fn list(&mut self, context: usize, at: usize, reach: Reach) {
        self.at = at + 1;
        loop {
            let rest = self.from(self.at);
            let is_mark = rest.starts_with(SECRET) || rest.starts_with(EMAIL);
            match rest.bytes().next() {
                Some(b' ' | b',' | b'\n' | b'\r' | b'\t') => self.at += 1,
                Some(b'[') if !is_mark => self.at += 1,
                Some(b'\\') if !is_quoted(rest) => {
                    let bare = rest.trim_start_matches('\\');
                    let n_slashes = rest.len() - bare.len();
                    let is_escape = n_slashes % 2 == 1 && bare.starts_with(['n', 'r', 't']);
                    self.at += n_slashes + usize::from(is_escape);
                }
                _ if rest.starts_with(PEM_END) => return,
                None | Some(b']' | b'{' | b'}') => return,
                Some(_) => {
                    let before = self.at;
                    let reach = if is_quoted(rest) { reach } else { Reach::Word };
                    self.given(context, before, reach);
                    // A closing quote stands behind what was quoted.
                    let behind = self.from(self.at);
                    self.at += behind.len() - behind.trim_start_matches(['\\', '"', '\'']).len();
                    if self.at == before {
                        return;
                    }
                }
            }
        }
    }

    /// Where a word ends; a mark at its beginning belongs to it whole.
    fn end_of_word(&self, at: usize) -> usize {
        let rest = self.from(at);
        let mark = [SECRET, EMAIL].into_iter().find(|it| rest.starts_with(it)).map_or(0, str::len);
        let word = rest.get(mark..).unwrap_or_default();
        if mark > 0 && word.starts_with('\\') {
            return at + mark;
        }
        let word = word.get(..word_end(word)).unwrap_or_default();
        let word = word.split_once("%26").map_or(word, |(before, _)| before);
        at + mark + word.trim_end_matches('\\').len()
    }

    /// Where a quoted text ends that `n_slashes` backslashes and a quote opened, or its line.
    fn end_of_quoted(&self, from: usize, quote: char, n_slashes: usize) -> usize {
        let rest = self.from(from);
        let mut slashes = 0;
        for (at, byte) in rest.bytes().enumerate() {
            match byte {
                b'\\' => slashes += 1,
                b'\n' => return from + at,
                _ if char::from(byte) == quote => {
                    // A quote with more backslashes than the opening one stands inside, unless they are a backslash each.
                    if slashes < n_slashes {
                        return from + at - slashes;
                    }
                    if slashes % (2 * (n_slashes + 1)) == n_slashes {
                        return from + at - n_slashes;
                    }
                    slashes = 0;
                }
                _ => slashes = 0,
            }
        }
        self.text.len()
    }

    /// Where a header line ends that no quote opened: at the end of the line, also where that is written `\n`, or where a
    /// quoted text ends that it stands in.
    pub(super) fn end_of_line(&self, from: usize) -> usize {
        let rest = self.from(from);
        let bytes = rest.as_bytes();
        let mut open = None;
        let mut slashes = 0;
        // What stands before, without backslashes.
        let mut last = b' ';
        for (at, byte) in bytes.iter().copied().enumerate() {
            let next = bytes.get(at + 1).copied();
            match byte {
                b'\n' | b'\r' => return from + at - slashes,
                b'\\' => {
                    if open.is_none() && slashes == 0 && matches!(next, Some(b'n' | b'r')) {
                        return from + at;
                    }
                    slashes += 1;
                    continue;
                }
                b'"' | b'\'' if open == Some(byte) => open = None,
                b'"' | b'\'' if open.is_none() && last == b'=' => open = Some(byte),
                b'"' if open.is_none() => return from + at - slashes,
                b'\'' if open.is_none() && !next.is_some_and(|it| it.is_ascii_alphanumeric()) => {
                    return from + at - slashes;
                }
                _ => {}
            }
            slashes = 0;
            last = byte;
        }
        self.text.len() - slashes
    }
}

/// What stands behind the sign between a name and its value.
fn behind_sign(behind_name: &str) -> Option<&str> {
    let mut rest = behind_name;
    loop {
        let bare = rest.trim_start_matches(['"', '\'', '\\', ']', ' ']);
        let bare =
            ["%5D", "%22", "%27", "%20"].into_iter().find_map(|it| bare.strip_prefix(it)).unwrap_or(bare);
        if bare.len() == rest.len() {
            break;
        }
        rest = bare;
    }
    let signs = ["=>", ":=", "=", ":", "%3D", "%3A"];
    let value = signs.into_iter().find_map(|it| rest.strip_prefix(it))?;
    Some(value.trim_start_matches(' '))
}

fn is_quoted(text: &str) -> bool {
    text.trim_start_matches('\\').starts_with(['"', '\''])
}

/// Whether a list of quoted texts begins here.
fn is_quoted_list(text: &str) -> bool {
    text.strip_prefix('[').is_some_and(|it| is_quoted(it.trim_start_matches([' ', '\n', '\r', '\t'])))
}

/// Where an object ends that begins at `at`; one that does not end reaches to the end of the line.
fn end_of_object(text: &str, at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    let mut depth = 0_usize;
    for (n, byte) in rest.bytes().take(MOST_LOOKED_AT).enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' if depth == 1 => return at + n + 1,
            b'}' => depth -= 1,
            _ => {}
        }
    }
    at + rest.find('\n').unwrap_or(rest.len())
}
