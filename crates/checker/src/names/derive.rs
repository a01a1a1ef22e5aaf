//! From one failure to its canonical kind: the links of its chain, their types, codes and texts, and which of them wins.

use health_model::{Failure, FailureKind, Phase};

use super::phrases::{Guard, PHRASES, Phrase};
use super::{Derived, Known, Source, Strength, codes, kind_of_name, types};
use crate::limits;

/// The kind that names, codes and texts tell, or `None` if they tell nothing. Ignores the reporter's own kind.
///
/// The strongest word wins, of equals the innermost. A tool exception's own text is not read: the tool writes it, and
/// often repeats the arguments of the call in it. A text of a failure without any type must not have the phrase right
/// behind a quote, for the same reason.
#[must_use]
pub fn derive(failure: &Failure) -> Option<Derived> {
    let mut best = Best::default();
    let top = Link {
        exception_type: failure.exception_type.as_deref(),
        code: failure.error_code.as_deref(),
        message: &failure.message,
    };
    top.read(failure, &mut best);
    for cause in failure.causes.iter().take(limits::MAX_CAUSES) {
        let link = Link {
            exception_type: cause.exception_type.as_deref(),
            code: cause.code.as_deref(),
            message: &cause.message,
        };
        link.read(failure, &mut best);
    }
    if let Some(output) = output(failure) {
        read_text(output, true, None, &mut best);
    }
    match failure.grpc_status.as_deref() {
        Some("DEADLINE_EXCEEDED") => {
            best.offer(FailureKind::Timeout, Strength::Generic, Source::GrpcStatus("DEADLINE_EXCEEDED"));
        }
        Some("CANCELLED") => {
            best.offer(FailureKind::Cancelled, Strength::Weak, Source::GrpcStatus("CANCELLED"))
        }
        _ => {}
    }
    if matches!(failure.exit_code, Some(126 | 127)) {
        best.offer(FailureKind::NotStarted, Strength::Generic, Source::ExitCode);
    }
    best.found.map(|(_, found)| at_phase(found, failure))
}

/// What a program printed before it ended: the error stream, or the body of a failure that speaks of a program's end.
///
/// A body is read only then: an answer's body is from outside, and a page or a document may hold any phrase.
fn output(failure: &Failure) -> Option<&str> {
    const ENDS: [&str; 4] = ["exit status", "exit code", "exited with", "Command failed"];
    const TYPES: [&str; 5] = ["CalledProcessError", "ExitError", "ProcessError", "ExecaError", "ShellError"];
    if let Some(stderr) = failure.stderr_tail.as_deref() {
        return Some(limits::tail(stderr, limits::MAX_MATCHED_BYTES));
    }
    let has_ended = failure.exit_code.is_some()
        || ENDS.iter().any(|it| failure.message.contains(it))
        || failure.exception_type.as_deref().is_some_and(|name| TYPES.iter().any(|it| name.ends_with(it)));
    let is_plain = !failure.body.trim_start().starts_with(['{', '[', '<']);
    (has_ended && is_plain && !failure.body.is_empty()).then_some(failure.body.as_str())
}

/// The best word so far. A later one of the same strength is further inside, or finer, and wins.
#[derive(Default)]
struct Best {
    found: Option<(Strength, Derived)>,
}

impl Best {
    fn offer(&mut self, kind: FailureKind, strength: Strength, source: Source) {
        if self.found.is_none_or(|(best, _)| best <= strength) {
            self.found = Some((strength, Derived { kind, source }));
        }
    }
}

/// A time-out without phase becomes exact where the reporter says that the call was still connecting.
fn at_phase(found: Derived, failure: &Failure) -> Derived {
    let connecting = failure.phase == Some(Phase::Connect) || failure.syscall.as_deref() == Some("connect");
    match found.source {
        Source::Name(word) | Source::Code(word) | Source::Phrase(word)
            if connecting && found.kind == FailureKind::Timeout =>
        {
            Derived { kind: FailureKind::ConnectTimeout, source: Source::Phase(word) }
        }
        Source::Number(_) if connecting && found.kind == FailureKind::Timeout => {
            Derived { kind: FailureKind::ConnectTimeout, ..found }
        }
        _ => found,
    }
}

/// One link of the chain of causes.
struct Link<'a> {
    exception_type: Option<&'a str>,
    code: Option<&'a str>,
    message: &'a str,
}

impl Link<'_> {
    fn read(&self, failure: &Failure, best: &mut Best) {
        let by_name = self.exception_type.and_then(kind_of_name);
        if let Some(known) = by_name {
            best.offer(known.kind, known.strength, Source::Name(known.word));
        }
        if let Some(known) = self.code.and_then(codes::lookup) {
            best.offer(known.kind, known.strength, Source::Code(known.word));
        }
        let is_errno_of_program = |it: &str| matches!(it, "ENOENT" | "EACCES" | "EPERM" | "ENOEXEC");
        let spawned = failure.phase == Some(Phase::Spawn)
            || failure.syscall.as_deref().is_some_and(|it| it == "spawn" || it.starts_with("spawn "));
        if spawned && [self.code, self.exception_type].into_iter().flatten().any(is_errno_of_program) {
            best.offer(FailureKind::NotStarted, Strength::Exact, Source::Code("ENOENT"));
        }
        if by_name.is_none_or(|it| it.kind != FailureKind::ToolException) {
            let type_kind = by_name.map(|it| it.kind);
            read_text(self.message, self.exception_type.is_some(), type_kind, best);
        }
    }
}

/// Reads the types and phrases of a text, from left to right: chains are printed from the outside in.
fn read_text(text: &str, is_typed: bool, type_kind: Option<FailureKind>, best: &mut Best) {
    let text = limits::head(text, limits::MAX_MATCHED_BYTES);
    if text.is_empty() {
        return;
    }
    let mut found: Vec<(usize, FailureKind, Strength, Source)> = Vec::new();
    // The ends of all types that are printed: looking for these is far cheaper than reading every word.
    if ["xception", "Error", "Timeout", "Elapsed"].iter().any(|it| text.contains(it)) {
        for (at, known) in printed_types(text) {
            found.push((at, known.kind, known.strength, Source::Name(known.word)));
        }
    }
    for (phrase, from, to) in PHRASES.find(text) {
        if !is_typed && behind_quote(text, from) {
            continue;
        }
        if let Some((kind, strength, source)) = weigh(phrase, text, from, to) {
            found.push((from, kind, strength, source));
        }
    }
    found.sort_by_key(|(at, ..)| *at);
    for (_, kind, strength, source) in found {
        // Java's `ConnectException: Connection timed out`: the type says where, the text what.
        let (kind, strength) = match (type_kind, kind) {
            (Some(FailureKind::ConnectRefused), FailureKind::Timeout) => {
                (FailureKind::ConnectTimeout, Strength::Exact)
            }
            _ => (kind, strength),
        };
        // Only a runtime's own exception tells that this side gave up; a tool that writes so speaks of its own calls.
        if is_typed || kind != FailureKind::Cancelled {
            best.offer(kind, strength, source);
        }
    }
}

/// Whether a phrase stands right behind a quote, as a repeated argument does. The values of a JSON object are no quotes.
fn behind_quote(text: &str, from: usize) -> bool {
    let mut before = text.get(..from).unwrap_or_default();
    if let Some((start, number)) = before.strip_suffix("] ").and_then(|it| it.rsplit_once(['[', '\n']))
        && number.len() < 20
    {
        before = start;
    }
    let Some(unquoted) = before.strip_suffix(['\'', '"', '`']) else { return false };
    let is_json_value = unquoted.trim_end().ends_with(':') && text.trim_start().starts_with('{');
    !is_json_value
}

/// Exception types that are printed in a text, such as `Caused by: java.net.ConnectException`, with their place.
fn printed_types(text: &str) -> impl Iterator<Item = (usize, Known)> {
    const ENDINGS: [&str; 4] = ["Exception", "Error", "Timeout", "Elapsed"];
    let is_part = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b':' | b'$');
    let bytes = text.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        while at < bytes.len() {
            let from = at;
            while bytes.get(at).is_some_and(|it| is_part(*it)) {
                at += 1;
            }
            let token = text.get(from..at).unwrap_or_default().trim_end_matches(['.', ':', '$']);
            // `ConnectTimeout=3` is an option, not a type.
            let is_option = bytes.get(at) == Some(&b'=');
            at += 1;
            let ends = token.len() > 7 && !is_option && ENDINGS.iter().any(|it| token.ends_with(it));
            // A bare ending is no type: "Error: …".
            let looks_so = || {
                let last = token.rsplit(super::SEPARATORS).next().unwrap_or(token);
                last.len() > 7
                    && last.starts_with(|it: char| it.is_ascii_uppercase())
                    && ENDINGS.iter().any(|it| last.ends_with(it) && last.len() > it.len())
            };
            if ends
                && looks_so()
                && let Some(known) = types::lookup(token)
            {
                return Some((from, known));
            }
        }
        None
    })
}

/// What a phrase means where it stands, or `None` if its guard does not hold.
fn weigh(phrase: Phrase, text: &str, from: usize, to: usize) -> Option<(FailureKind, Strength, Source)> {
    let before = text.get(..from).unwrap_or_default();
    let after = text.get(to..).unwrap_or_default();
    let holds = match phrase.guard {
        Guard::Plain => true,
        Guard::Clause => begins_clause(before) && ends_clause(after),
        Guard::Begins => begins_clause(before),
        Guard::Ends => {
            begins_clause(before) && (after.is_empty() || after.starts_with(['\n', '\r', '"', '\'', ')']))
        }
        Guard::Code => {
            text.get(from..to) == Some(phrase.text)
                && !before.ends_with(is_word)
                && !after.starts_with(is_word)
        }
        Guard::Prefix => {
            text.get(from..to) == Some(phrase.text)
                && !before.ends_with(is_word)
                && after.starts_with(|it: char| it.is_ascii_uppercase())
        }
        Guard::Number => {
            let number = printed_number(after)?;
            let (kind, strength) = codes::number(number)?;
            return Some((kind, strength, Source::Number(number)));
        }
        Guard::Errno => {
            let number = leading_number(after.trim_start_matches(' '))?;
            let (kind, strength) = codes::errno(number)?;
            return Some((kind, strength, Source::Number(number)));
        }
        Guard::Spawn => {
            let program_and_rest = after.split_once([' ', '\n']).map(|(_, rest)| rest);
            !before.ends_with(is_word)
                && program_and_rest.is_some_and(|it| it.starts_with("ENOENT") || it.starts_with("EACCES"))
        }
        Guard::GoTimeout => return Some(go_timeout(phrase, before)),
        Guard::AfterTimeout => limits::tail(before, 32).to_ascii_lowercase().contains("timeout"),
    };
    let source = if phrase.guard == Guard::Code || phrase.guard == Guard::Prefix {
        Source::Code(phrase.text)
    } else {
        Source::Phrase(phrase.text)
    };
    holds.then_some((phrase.kind, phrase.strength, source))
}

/// `dial tcp 10.0.0.1:80: i/o timeout` is a connect time-out; `lookup NAME: i/o timeout` is a resolver's.
fn go_timeout(phrase: Phrase, before: &str) -> (FailureKind, Strength, Source) {
    let near = limits::tail(before, 300);
    let source = Source::Phrase(phrase.text);
    match near.rfind("dial ").and_then(|at| near.get(at..)) {
        // A resolver that is silent: a time-out that says nothing of the tool's host.
        Some(dialled) if dialled.contains("lookup ") => (FailureKind::Timeout, Strength::Generic, source),
        Some(dialled) if !dialled.contains("read ") => (FailureKind::ConnectTimeout, Strength::Exact, source),
        _ => (phrase.kind, phrase.strength, source),
    }
}

/// The number right behind a mark; for MySQL's client the one in the next brackets.
fn printed_number(after: &str) -> Option<i64> {
    let near = limits::head(after, 120);
    let near = if near.starts_with(|it: char| it.is_ascii_digit() || it == '-') {
        near
    } else {
        near.lines().next()?.split_once('(').map(|(_, rest)| rest)?
    };
    leading_number(near)
}

fn leading_number(text: &str) -> Option<i64> {
    let near = limits::head(text, 20);
    let end = near.find(|it: char| !it.is_ascii_digit() && it != '-').unwrap_or(near.len());
    near.get(..end)?.parse().ok()
}

fn is_word(it: char) -> bool {
    it.is_ascii_alphanumeric() || it == '_'
}

/// Whether a clause begins behind this text: at its start, a line's start, or behind a separator.
fn begins_clause(before: &str) -> bool {
    let Some(last) = before.chars().next_back() else { return true };
    if matches!(last, '(' | '[' | '{' | '\n' | '\t' | '=' | '|' | '"' | '\'' | '`' | '>') {
        return true;
    }
    last == ' '
        && before.trim_end_matches(' ').ends_with([':', ']', ')', '>', '-', ',', ';', '|', '\n', '=', '.'])
}

/// Whether a clause ends where this text begins.
fn ends_clause(after: &str) -> bool {
    let Some(first) = after.chars().next() else { return true };
    if matches!(
        first,
        ')' | ']'
            | '}'
            | '"'
            | '\''
            | '`'
            | '\n'
            | '\r'
            | '\t'
            | '.'
            | ','
            | ';'
            | ':'
            | '>'
            | '<'
            | '|'
            | '!'
            | '\\'
    ) {
        return true;
    }
    let rest = after.trim_start_matches(' ');
    first == ' '
        && (rest.is_empty()
            || rest.starts_with(['(', '[', '-', '<', '|', '{', '}', ')', ']', '\n'])
            || rest.starts_with("to host"))
}
