//! A linear look at the text before it is parsed: how deep its brackets are nested.
//!
//! The YAML reader takes in a whole document before it can refuse its depth, and deep brackets are the one thing that
//! costs it far more than their length. Quoted text, comments and block scalars do not count. Where this scan errs, it
//! errs in time or by refusing brackets in unusual plain text, never in what the rules say: the exact limit on the
//! parsed tree stands behind it.

/// What the scan is inside of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum In {
    /// Before a value.
    Value,
    /// In a plain scalar, or behind a value.
    Plain,
    Single,
    Double,
    Comment,
    /// In the header of a block scalar, or in its text.
    BlockScalar,
    /// In an anchor or a tag: the value follows.
    Property,
}

/// The line, from 1, at which brackets are nested deeper than `limit`; `None` if they never are.
pub(super) fn line_nested_over(text: &str, limit: usize) -> Option<u32> {
    let mut scan = Scan::default();
    let mut bytes = text.bytes().peekable();
    while let Some(byte) = bytes.next() {
        scan.step(byte, bytes.peek().copied());
        if scan.depth > limit {
            return Some(scan.line);
        }
    }
    None
}

struct Scan {
    state: In,
    depth: usize,
    line: u32,
    /// The column of the next byte.
    column: usize,
    /// The column of the innermost block collection that began on this line: of its key, or of the last dash.
    entry_column: usize,
    /// A dash was read, and nothing behind it.
    behind_dash: bool,
    at_line_start: bool,
    previous: u8,
    /// The next byte belongs to the one before it.
    skip: bool,
    /// Lines indented deeper than this belong to a block scalar.
    block_scalar: Option<usize>,
}

impl Default for Scan {
    fn default() -> Self {
        Self {
            state: In::Value,
            depth: 0,
            line: 1,
            column: 0,
            entry_column: 0,
            behind_dash: false,
            at_line_start: true,
            previous: b'\n',
            skip: false,
            block_scalar: None,
        }
    }
}

impl Scan {
    fn step(&mut self, byte: u8, next: Option<u8>) {
        if std::mem::take(&mut self.skip) {
            self.advance(byte);
            return;
        }
        if byte == b'\n' {
            self.end_line();
            return;
        }
        if self.at_line_start && byte != b' ' && byte != b'\r' {
            self.begin_content();
        }
        let next_is_blank = next.is_none_or(|it| matches!(it, b' ' | b'\t' | b'\n' | b'\r'));
        match self.state {
            In::Comment | In::BlockScalar => {}
            In::Double if byte == b'\\' => self.skip = true,
            In::Double if byte == b'"' => self.state = In::Plain,
            In::Single if byte == b'\'' && next == Some(b'\'') => self.skip = true,
            In::Single if byte == b'\'' => self.state = In::Plain,
            In::Double | In::Single => {}
            In::Property if next_is_blank => self.state = In::Value,
            In::Property => {}
            In::Value => self.value(byte, next_is_blank),
            In::Plain => self.plain(byte, next, next_is_blank),
        }
        self.advance(byte);
    }

    fn value(&mut self, byte: u8, next_is_blank: bool) {
        let is_dash = matches!(byte, b'-' | b'?') && next_is_blank && self.depth == 0;
        if self.behind_dash && !is_dash && !matches!(byte, b' ' | b'\t' | b'\r' | b'|' | b'>') {
            self.behind_dash = false;
            self.entry_column = self.column;
        }
        match byte {
            b' ' | b'\t' | b'\r' | b',' => {}
            b'#' if matches!(self.previous, b' ' | b'\t' | b'\n') => self.state = In::Comment,
            b'"' => self.state = In::Double,
            b'\'' => self.state = In::Single,
            b'[' | b'{' => self.depth += 1,
            b']' | b'}' => self.close(),
            _ if is_dash => {
                self.behind_dash = true;
                self.entry_column = self.column;
            }
            b':' if next_is_blank => {}
            b'&' | b'!' => self.state = if next_is_blank { In::Value } else { In::Property },
            b'|' | b'>' if self.depth == 0 => {
                self.state = In::BlockScalar;
                self.block_scalar = Some(self.entry_column);
            }
            _ => self.state = In::Plain,
        }
    }

    fn plain(&mut self, byte: u8, next: Option<u8>, next_is_blank: bool) {
        let in_brackets = self.depth > 0;
        match byte {
            b'#' if matches!(self.previous, b' ' | b'\t') => self.state = In::Comment,
            b':' if next_is_blank => self.state = In::Value,
            b':' if in_brackets
                && (matches!(self.previous, b'"' | b'\'')
                    || matches!(next, Some(b',' | b'[' | b']' | b'{' | b'}'))) =>
            {
                self.state = In::Value;
            }
            b',' if in_brackets => self.state = In::Value,
            b'[' | b'{' if in_brackets => {
                self.depth += 1;
                self.state = In::Value;
            }
            b']' | b'}' if in_brackets => self.close(),
            _ => {}
        }
    }

    fn close(&mut self) {
        self.depth = self.depth.saturating_sub(1);
        self.state = In::Plain;
    }

    fn advance(&mut self, byte: u8) {
        if byte == b'\n' {
            self.end_line();
            return;
        }
        self.column += 1;
        self.previous = byte;
    }

    fn end_line(&mut self) {
        let is_open =
            matches!(self.state, In::Single | In::Double) || (self.state == In::Plain && self.depth > 0);
        if !is_open {
            self.state = In::Value;
        }
        self.line += 1;
        self.column = 0;
        self.at_line_start = true;
        self.behind_dash = false;
        self.previous = b'\n';
    }

    /// The first byte of a line that is not blank: is the line still part of a block scalar?
    fn begin_content(&mut self) {
        self.at_line_start = false;
        if self.state != In::Value {
            return;
        }
        match self.block_scalar {
            Some(parent) if self.column > parent => self.state = In::BlockScalar,
            _ => {
                self.block_scalar = None;
                self.entry_column = self.column;
            }
        }
    }
}
