//! What runtimes call a failure, brought to canonical kinds (C16).
//!
//! Owns the names, codes and machine-printed phrases of Java, Python, Node, Go, Rust, .NET, browsers and common command
//! line clients, whole families at a time, and the order in which they speak. Knows nothing of rules. No entry is an
//! incidental word of one error message: each is a type, a code, or a text that an operating system, a runtime or a
//! client library prints by itself.
//!
//! Order: the reporter's own kind wins over everything (the caller of [`derive()`] sees to that). Else the strongest word
//! wins, of equals the innermost: chains of causes go from the outermost inwards, in the report and within a printed
//! text. Within one link the text refines the code, and the code the type.

mod codes;
mod derive;
pub(crate) mod errno;
mod phrases;
mod types;

use health_model::FailureKind;

pub use derive::derive;

/// What separates the segments of a qualified name in any of the runtimes.
pub const SEPARATORS: [char; 6] = ['.', ':', '/', '\\', '$', '+'];

/// How surely a word means its kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Strength {
    /// Only if nothing else speaks: a wrapper that runtimes put around many things.
    Weak,
    /// The family of the failure, not its place: a time-out without phase, a broken connection.
    Generic,
    /// Exactly this.
    Exact,
}

/// A word with its meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    /// The word, as in the table.
    pub word: &'static str,
    /// The kind.
    pub kind: FailureKind,
    /// How surely.
    pub strength: Strength,
}

/// A kind and where it comes from. Displays as `kind (source)`, made of the tables' own words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Derived {
    /// The kind.
    pub kind: FailureKind,
    /// Where it comes from.
    pub source: Source,
}

/// Where a kind comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The reporter said it.
    Reported,
    /// The name of an exception type.
    Name(&'static str),
    /// A machine code.
    Code(&'static str),
    /// A phrase in a message.
    Phrase(&'static str),
    /// An error number of the operating system, of its resolver or of libuv, printed in a message.
    Number(i64),
    /// The gRPC status.
    GrpcStatus(&'static str),
    /// The exit code of a shell that did not find the program.
    ExitCode,
    /// A name or phrase of a time-out, made exact by the phase of the call.
    Phase(&'static str),
}

impl Derived {
    /// The reporter's own kind.
    #[must_use]
    pub const fn reported(kind: FailureKind) -> Self {
        Self { kind, source: Source::Reported }
    }
}

impl std::fmt::Display for Derived {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ", self.kind)?;
        match self.source {
            Source::Reported => f.write_str("(as reported)"),
            Source::Name(word) => write!(f, "(type `{word}`)"),
            Source::Code(word) => write!(f, "(code `{word}`)"),
            Source::Phrase(word) => write!(f, "(text `{word}`)"),
            Source::Number(number) => write!(f, "(error number {number})"),
            Source::GrpcStatus(status) => write!(f, "(gRPC status {status})"),
            Source::ExitCode => f.write_str("(exit code of the shell)"),
            Source::Phase(word) => write!(f, "(`{word}` while connecting)"),
        }
    }
}

/// What a name of an exception type or a code means by itself, if that is known in any runtime. Pointer marks, type
/// parameters and anything from a bracket on are ignored.
#[must_use]
pub fn kind_of_name(name: &str) -> Option<Known> {
    let name = bare(name);
    codes::lookup(name).or_else(|| types::lookup(name))
}

/// The last segment of a qualified name.
#[must_use]
pub fn last_segment(name: &str) -> &str {
    let name = bare(name);
    name.rsplit(SEPARATORS).next().unwrap_or(name)
}

fn bare(name: &str) -> &str {
    let name = name.trim().trim_start_matches(['*', '&']);
    name.split(['<', '(', '[', ' ']).next().unwrap_or(name)
}

#[cfg(test)]
mod tests;
