//! The one place that writes to standard output: lines, tables and messages, as text or as JSON.
//!
//! Owns width, colour and the cleaning of text from outside. Knows no message.

use std::io::{self, IsTerminal, Write};

use crate::json::{WireMessage, to_json};
use crate::table::Table;

/// The widest line of a table.
pub(crate) const WIDTH: usize = 100;

/// How a command answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// For people: at most 100 columns.
    Table,
    /// For programs: the response as one JSON object, by the JSON mapping of proto3.
    Json,
}

/// Where a command writes its answer.
pub(crate) struct Out {
    sink: Box<dyn Write>,
    format: Format,
    colour: bool,
}

impl Out {
    /// Standard output. Colour only on a terminal and without NO_COLOR.
    pub(crate) fn stdout(format: Format) -> Self {
        let stdout = io::stdout();
        let wanted = std::env::var_os("NO_COLOR").is_none_or(|it| it.is_empty());
        let colour = wanted && stdout.is_terminal();
        Self { sink: Box::new(stdout), format, colour }
    }

    /// The format asked for.
    pub(crate) fn format(&self) -> Format {
        self.format
    }

    /// Writes one line. The text is ours or was cleaned by [`printable`].
    pub(crate) fn line(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.sink, "{text}")
    }

    /// Writes a text that holds its own line breaks.
    pub(crate) fn text(&mut self, text: &str) -> io::Result<()> {
        self.sink.write_all(text.as_bytes())
    }

    /// Writes a table, its state words in colour on a terminal.
    pub(crate) fn table(&mut self, table: &Table) -> io::Result<()> {
        let text = table.render(WIDTH, self.colour);
        self.text(&text)
    }

    /// Writes the response: as JSON, or as the text that `table` makes of it.
    pub(crate) fn answer<M: WireMessage>(
        &mut self,
        message: &M,
        table: impl FnOnce(&mut Self) -> io::Result<()>,
    ) -> io::Result<()> {
        match self.format {
            Format::Json => self.line(&to_json(message, false)),
            Format::Table => table(self),
        }?;
        self.flush()
    }

    /// Sends what is buffered to the reader.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.sink.flush()
    }

    /// An output into memory, as on a pipe.
    #[cfg(test)]
    pub(crate) fn captured(format: Format) -> (Self, Captured) {
        let captured = Captured::default();
        (Self { sink: Box::new(captured.clone()), format, colour: false }, captured)
    }
}

/// Says something besides the answer, on standard error. If that is closed, there is nobody to tell.
pub(crate) fn note(text: &str) {
    let _ = writeln!(io::stderr().lock(), "note: {}", printable(text));
}

/// As [`note`], for a line that says itself what it is: `warning: …`.
pub(crate) fn aside(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", printable(line));
}

/// The text without characters that steer a terminal: line breaks and tabs become spaces, others `?`. Text from outside
/// is data (DESIGN §2.6).
pub(crate) fn printable(text: &str) -> String {
    text.chars()
        .map(|it| match it {
            '\n' | '\r' | '\t' => ' ',
            // Marks that turn the direction of writing around hide what a line says.
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => '?',
            it if it.is_control() => '?',
            it => it,
        })
        .collect()
}

/// What a command wrote.
#[cfg(test)]
#[derive(Clone, Default)]
pub(crate) struct Captured(std::sync::Arc<std::sync::Mutex<Vec<u8>>>);

#[cfg(test)]
impl Captured {
    /// Everything written so far.
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.0.lock().expect("not poisoned").clone()).expect("text only")
    }
}

#[cfg(test)]
impl Write for Captured {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("not poisoned").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
