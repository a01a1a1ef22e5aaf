//! The failure as brains see it, unwrapped: what a failure's own texts say of its innermost cause.
//!
//! Clients put the real error into the words of another one: a provider's JSON inside a tool's text, a Python-repr dict
//! behind `Error code: 500 - `, a gRPC status inside an HTTP error, a chain of causes on one line. This module reads those
//! texts once and collects what machines printed in them, each with its layer: HTTP statuses of an upstream, machine
//! codes, JSON-RPC and gRPC codes, SQLSTATEs, WebSocket close codes, exit codes, names of exception types.
//!
//! Owns no opinion, and never guesses: a number is a status only where its context says so (`HTTP 403`, `status: 403`,
//! `403 Forbidden`, `"code": 403`), never in prose. A code is a word that is written like one (`invalid_grant`,
//! `AccessDenied`, `EACCES`, `ORA-00942`), or the value of a field that holds codes.
//!
//! Codes are compared by their letters and digits alone: `rateLimitExceeded`, `RATE_LIMIT_EXCEEDED` and
//! `rate-limit-exceeded` are one code, and `ThrottlingException` is `Throttling`.

mod codes;
mod field;
mod number;
mod state;
mod token;

use health_model::Failure;
use health_model::failure::GRPC_STATUSES;

use crate::limits;

pub(crate) use codes::{CodeMap, normalise};

/// A set of small numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Bits(Vec<u64>);

impl Bits {
    pub(crate) fn with_room(n: usize) -> Self {
        Self(vec![0; n.div_ceil(64)])
    }

    pub(crate) fn insert(&mut self, at: u32) {
        if let Some(word) = self.0.get_mut(at as usize / 64) {
            *word |= 1 << (at % 64);
        }
    }

    pub(crate) fn contains(&self, at: u32) -> bool {
        self.0.get(at as usize / 64).is_some_and(|word| word >> (at % 64) & 1 == 1)
    }

    /// The members, in rising order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> {
        self.0.iter().zip(0_u32..).filter(|(word, _)| **word != 0).flat_map(|(&word, at)| members(word, at))
    }

    /// The members that are in the other set too, in rising order.
    pub(crate) fn both<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = u32> + 'a {
        let words = self.0.iter().zip(&other.0).map(|(a, b)| a & b).zip(0_u32..);
        words.filter(|(word, _)| *word != 0).flat_map(|(word, at)| members(word, at))
    }
}

/// A set of numbers that is compared with another one at once: few words, since the numbers of one condition stand together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Mask(Vec<(u32, u64)>);

impl Mask {
    pub(crate) fn of(numbers: &[u32]) -> Self {
        let mut words: Vec<(u32, u64)> = Vec::new();
        for number in numbers {
            let (at, bit) = (number / 64, 1 << (number % 64));
            match words.iter_mut().find(|(it, _)| *it == at) {
                Some((_, word)) => *word |= bit,
                None => words.push((at, bit)),
            }
        }
        Self(words)
    }

    /// Whether there is nothing in it.
    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a number is in it.
    pub(crate) fn contains(&self, number: u32) -> bool {
        self.0.iter().any(|(at, word)| *at == number / 64 && word >> (number % 64) & 1 == 1)
    }

    /// Whether they have a member in common.
    pub(crate) fn meets(&self, bits: &Bits) -> bool {
        self.0.iter().any(|(at, word)| bits.0.get(*at as usize).is_some_and(|it| it & word != 0))
    }
}

/// The members of one word of a set.
fn members(word: u64, at: u32) -> impl Iterator<Item = u32> {
    let mut rest = word;
    std::iter::from_fn(move || {
        let bit = rest.trailing_zeros();
        rest &= rest.wrapping_sub(1);
        (bit < 64).then(|| at * 64 + bit)
    })
}

/// What the texts of a failure say of it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Signals<'a> {
    /// HTTP statuses that a text names, 400 to 599, the innermost last.
    pub(crate) statuses: Vec<u16>,
    /// Which codes of the table stand there.
    pub(crate) codes: Bits,
    /// JSON-RPC codes of the reserved range.
    pub(crate) rpc_codes: Vec<i64>,
    /// gRPC statuses.
    pub(crate) grpc: Vec<&'static str>,
    /// SQLSTATEs.
    pub(crate) sql_states: Vec<&'a str>,
    /// WebSocket close codes.
    pub(crate) close_codes: Vec<u16>,
    /// Exit codes and, negative, signals.
    pub(crate) exit_codes: Vec<i64>,
    /// Names of exception types, by their last segment: the reported ones, then those that a text prints.
    pub(crate) types: Vec<&'a str>,
    n_reported_types: usize,
}

impl<'a> Signals<'a> {
    /// Names of exception types that only a text prints.
    pub(crate) fn printed_types(&self) -> &[&'a str] {
        self.types.get(self.n_reported_types..).unwrap_or_default()
    }
}

/// Reads a failure. The texts are read only with `deep`.
pub(crate) fn read<'a>(failure: &'a Failure, codes: &CodeMap, deep: bool) -> Signals<'a> {
    let mut reader = Reader {
        codes,
        signals: Signals { codes: Bits::with_room(codes.len()), ..Signals::default() },
        is_websocket: failure.exception_type.as_deref().is_some_and(is_websocket_type),
    };
    reader.reported(failure);
    if deep {
        let message = limits::head(&failure.message, limits::MAX_MATCHED_BYTES);
        let body = limits::head(&failure.body, limits::MAX_MATCHED_BYTES);
        token::read(message, &mut reader);
        for cause in failure.causes.iter().take(limits::MAX_CAUSES) {
            token::read(limits::head(&cause.message, limits::MAX_MATCHED_BYTES), &mut reader);
        }
        if let Some(stderr) = failure.stderr_tail.as_deref() {
            token::read(limits::tail(stderr, limits::MAX_MATCHED_BYTES), &mut reader);
        }
        if body != message {
            token::read(body, &mut reader);
        }
    }
    reader.signals
}

fn is_websocket_type(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["websocket", "connectionclosed", "tungstenite", "closeerror"].iter().any(|it| name.contains(it))
}

/// Collects signals.
pub(crate) struct Reader<'a, 'c> {
    codes: &'c CodeMap,
    signals: Signals<'a>,
    is_websocket: bool,
}

impl<'a> Reader<'a, '_> {
    /// The fields that the reporter filled.
    fn reported(&mut self, failure: &'a Failure) {
        let types = failure
            .exception_type
            .iter()
            .chain(failure.causes.iter().filter_map(|it| it.exception_type.as_ref()));
        for name in types {
            let last = crate::names::last_segment(name);
            push_new(&mut self.signals.types, last);
            self.code(last);
        }
        self.signals.n_reported_types = self.signals.types.len();
        let codes = failure.error_code.iter().chain(failure.causes.iter().filter_map(|it| it.code.as_ref()));
        for code in codes {
            self.reported_code(code);
        }
        for state in failure.sql_state.iter() {
            self.sql_state(state);
        }
        if let Some(code) = failure.json_rpc_code {
            self.rpc_code(code);
        }
        if let Some(status) = failure.grpc_status.as_deref().and_then(grpc_status) {
            self.grpc(status);
        }
        if let Some(code) = failure.exit_code {
            self.exit_code(i64::from(code));
        }
    }

    /// A code that the reporter names: it may be anything, a word or a number.
    fn reported_code(&mut self, code: &'a str) {
        self.code(code);
        for part in code.split(|it: char| !it.is_ascii_alphanumeric() && it != '_' && it != '-') {
            if part.len() < code.len() {
                self.code(part);
            }
        }
        if let Some(status) = grpc_status(code) {
            self.grpc(status);
        }
        if state::is_sql_state(code) {
            self.sql_state(code);
        }
        if let Ok(number) = code.trim().parse::<i64>() {
            if (-32_768..=-32_000).contains(&number) {
                self.rpc_code(number);
            }
            if (-64..=255).contains(&number) {
                self.exit_code(number);
            }
            if self.is_websocket || (1_000..=1_015).contains(&number) {
                self.close_code(number);
            }
        }
    }

    /// A word that is written like a code, or stands where a code stands.
    fn code(&mut self, word: &str) {
        self.codes.find(word, |id| self.signals.codes.insert(id));
    }

    fn status(&mut self, status: u16) {
        self.signals.statuses.push(status);
    }

    fn rpc_code(&mut self, code: i64) {
        push_new(&mut self.signals.rpc_codes, code);
    }

    fn grpc(&mut self, status: &'static str) {
        push_new(&mut self.signals.grpc, status);
        self.code(status);
    }

    fn sql_state(&mut self, state: &'a str) {
        push_new(&mut self.signals.sql_states, state);
    }

    fn close_code(&mut self, code: i64) {
        if let Ok(code @ 1_000..=4_999) = u16::try_from(code) {
            push_new(&mut self.signals.close_codes, code);
        }
    }

    fn exit_code(&mut self, code: i64) {
        push_new(&mut self.signals.exit_codes, code);
    }

    fn exception_type(&mut self, name: &'a str) {
        if self.signals.types.len() < MAX_TYPES {
            push_new(&mut self.signals.types, name);
        }
    }
}

/// Names of types that are kept of one failure.
const MAX_TYPES: usize = 32;

/// Kept once each, and few: texts that repeat themselves cost no more.
fn push_new<T: PartialEq>(list: &mut Vec<T>, item: T) {
    if list.len() < MAX_TYPES && !list.contains(&item) {
        list.push(item);
    }
}

/// The canonical name of a gRPC status, of any spelling: `Unavailable`, `UNAVAILABLE`, `DeadlineExceeded`.
fn grpc_status(word: &str) -> Option<&'static str> {
    if word.len() > 20 {
        return None;
    }
    let squeeze = |it: u8| it != b'_';
    GRPC_STATUSES.into_iter().skip(1).find(|name| {
        let (a, b) = (name.bytes().filter(|it| squeeze(*it)), word.bytes().filter(|it| squeeze(*it)));
        a.eq(b.map(|it| it.to_ascii_uppercase()))
            || (*name == "CANCELLED" && word.eq_ignore_ascii_case("canceled"))
    })
}

#[cfg(test)]
mod tests;
