//! Fields of a JSON body that say when to call again, at any depth. Owns the names of such fields.

use health_model::{Failure, RetryBasis};
use serde_json::{Map, Value};

use super::limit;
use super::phrase;
use super::text::Found;
use super::value::{self, Moment, SECOND};
use super::{Clock, Said, Source, Unit};

/// Deeper bodies are read as text.
pub(super) const MOST_LEVELS: usize = 64;

/// What a field holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    /// A wait or an instant; a number is in this unit.
    Number(Unit),
    /// A span that names its unit. A bare number under this name is a client's own setting.
    Span,
}

/// Subtrees that repeat what the caller sent: phrases in them are the caller's.
const ECHOES: [&str; 8] =
    ["arguments", "config", "input", "inputs", "prompt", "query", "request", "variables"];

/// A field by name; case, `_`, `-` and blanks in it do not count.
pub(super) fn field(name: &str) -> Option<Field> {
    if name.len() > 40 || name.len() < 7 {
        return None;
    }
    let plain: String =
        name.chars().filter(char::is_ascii_alphanumeric).map(|it| it.to_ascii_lowercase()).collect();
    let unit = match plain.as_str() {
        "retrydelay" | "waittime" => return Some(Field::Span),
        "retryafter"
        | "xretryafter"
        | "retryin"
        | "retryat"
        | "nextretryat"
        | "retryafterat"
        | "retryafterdate"
        | "retryaftertime"
        | "retryaftertimestamp"
        | "availableat"
        | "nextavailableat"
        | "unlockat"
        | "lockeduntil"
        | "blockeduntil"
        | "resetin"
        | "resetsin"
        | "resetafter"
        | "resetat"
        | "resetsat"
        | "resettime"
        | "resettimestamp" => Unit::Auto,
        "retryafters"
        | "retryaftersec"
        | "retryaftersecs"
        | "retryafterseconds"
        | "retryafterinseconds"
        | "retryinseconds"
        | "retrydelayseconds"
        | "retrydelaysecs"
        | "secondsuntilretry"
        | "estimatedtime"
        | "waitseconds"
        | "waitsecs"
        | "waittimeseconds"
        | "waittimesec"
        | "waittimeinseconds"
        | "secondstowait"
        | "cooldownseconds"
        | "suspendedtime"
        | "resetinseconds"
        | "resetsinseconds"
        | "resetafterseconds"
        | "secondsuntilreset" => Unit::Seconds,
        "retryafterms"
        | "xmsretryafterms"
        | "retryafterinms"
        | "retryaftermillis"
        | "retryaftermilliseconds"
        | "retryinms"
        | "retrydelayms"
        | "retrydelaymillis"
        | "waitms"
        | "waittimems"
        | "resetinms"
        | "resetafterms" => Unit::Milliseconds,
        "retryafterminutes" | "retryinminutes" | "waitminutes" => Unit::Minutes,
        _ => return None,
    };
    Some(Field::Number(unit))
}

/// When the field at `pointer` (RFC 6901) of a body says to call again; `None` if it is absent or unreadable.
///
/// A string is read like a header's value; an object with `seconds` and `nanos` is a span. Instants are measured on the
/// other side's clock: pass [`Clock::of`] the failure, or only `now`.
#[must_use]
pub fn from_pointer(body: &Value, pointer: &str, unit: Unit, clock: impl Into<Clock>) -> Option<Said> {
    let at = moment(body.pointer(pointer)?, Field::Number(unit))?.on(clock.into())?;
    Some(Said { at, basis: RetryBasis::Exact, source: Source::body(pointer) })
}

fn moment(value: &Value, field: Field) -> Option<Moment> {
    match (value, field) {
        (Value::String(text), Field::Number(unit)) => value::whole(text, unit),
        (Value::String(text), Field::Span) => {
            let is_bare = value::number(text.trim(), Unit::Seconds).is_some();
            if is_bare { None } else { value::whole(text, Unit::Seconds) }
        }
        (Value::Number(number), Field::Number(unit)) => value::number(&decimal(number), unit),
        (Value::Array(values), _) => values.iter().take(8).find_map(|it| match it {
            Value::Array(_) | Value::Object(_) => None,
            it => moment(it, field),
        }),
        (Value::Object(parts), _) => span(parts),
        _ => None,
    }
}

/// A number without an exponent.
fn decimal(number: &serde_json::Number) -> String {
    let text = number.to_string();
    let is_small = number.as_f64().is_some_and(|it| (0.0..1.0).contains(&it));
    if is_small { format!("{:.9}", number.as_f64().unwrap_or_default()) } else { text }
}

/// A protobuf duration as an object: `{"seconds": "33", "nanos": 500000000}`.
fn span(parts: &Map<String, Value>) -> Option<Moment> {
    let number = |name: &str| match parts.get(name)? {
        Value::String(text) => value::number(text, Unit::Seconds),
        Value::Number(number) => value::number(&decimal(number), Unit::Seconds),
        _ => None,
    };
    let Moment::Wait(seconds) = number("seconds")? else { return None };
    match number("nanos") {
        Some(Moment::Wait(nanos)) => Some(Moment::Wait(seconds + nanos / SECOND)),
        _ => Some(Moment::Wait(seconds)),
    }
}

/// Discord counted milliseconds before version 8 of its API, in a whole number, and seconds with a fraction since.
///
/// A whole number from 1,000 on is milliseconds, unless headers that came later speak for seconds. `x-ratelimit-reset-after`
/// is seconds in all versions: with it, the number is milliseconds if it is a thousandfold of that header.
pub(super) fn is_old_discord(count: u64, failure: &Failure) -> bool {
    if count < 1_000 {
        return false;
    }
    if let Some(seconds) = failure.header("x-ratelimit-reset-after").next() {
        return match value::number(seconds.trim(), Unit::Seconds) {
            Some(Moment::Wait(nanos)) => (i128::from(count) * 1_000_000 - nanos).abs() <= SECOND,
            _ => false,
        };
    }
    failure.header("x-ratelimit-scope").next().is_none()
}

/// Whether a text nests lists and objects deeper than [`MOST_LEVELS`].
pub(super) fn is_too_deep(json: &str) -> bool {
    let mut level = 0_usize;
    let mut is_text = false;
    let mut is_escaped = false;
    for byte in json.bytes() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_text => is_escaped = true,
            b'"' => is_text = !is_text,
            b'{' | b'[' if !is_text => level += 1,
            b'}' | b']' if !is_text => level = level.saturating_sub(1),
            _ => {}
        }
        if level > MOST_LEVELS {
            return true;
        }
    }
    false
}

/// Collects what a JSON body says.
pub(super) struct Walk<'a> {
    pub failure: &'a Failure,
    pub clock: Clock,
    pub found: &'a mut Found,
    pub pointer: String,
}

impl Walk<'_> {
    /// Visits a value; `is_echo` = it repeats what the caller sent. The caller has checked the depth.
    pub(super) fn visit(&mut self, value: &Value, is_echo: bool) {
        match value {
            Value::Object(members) => self.object(members, is_echo),
            Value::Array(values) => {
                for (at, value) in values.iter().enumerate() {
                    self.inside(&at.to_string(), |walk| walk.visit(value, is_echo));
                }
            }
            Value::String(text) if !is_echo => {
                let told = phrase::scan(text, self.clock, self.failure);
                self.found.add(told);
            }
            _ => {}
        }
    }

    fn object(&mut self, members: &Map<String, Value>, is_echo: bool) {
        let has = |name: &str| members.keys().any(|it| it.eq_ignore_ascii_case(name));
        let has_remaining = has("remaining");
        if !is_echo {
            self.limits(members, has_remaining);
        }
        for (name, value) in members {
            let is_echo = is_echo || ECHOES.iter().any(|it| name.eq_ignore_ascii_case(it));
            self.inside(name, |walk| {
                if !is_echo {
                    walk.member(members, name, value, has_remaining);
                }
                walk.visit(value, is_echo);
            });
        }
    }

    fn member(&mut self, siblings: &Map<String, Value>, name: &str, value: &Value, has_remaining: bool) {
        let Some(mut field) = field(name) else { return };
        let lower = name.to_ascii_lowercase();
        let is_limit = has_remaining && lower.starts_with("reset");
        // Elsewhere, an estimated time is how long the work itself takes.
        let is_work = lower.starts_with("estimated") && !siblings.contains_key("error");
        if is_limit || is_work {
            return;
        }
        if let Some(count) = value.as_u64()
            && siblings.get("global").is_some_and(Value::is_boolean)
            && field == Field::Number(Unit::Auto)
            && is_old_discord(count, self.failure)
        {
            field = Field::Number(Unit::Milliseconds);
            self.found.old_discord = Some(count);
        }
        if let Some(moment) = moment(value, field) {
            self.found.fields.add(moment, false, self.clock, Source::body(&self.pointer));
        }
    }

    /// An object that lists headers, or that has a remainder and a reset.
    fn limits(&mut self, members: &Map<String, Value>, has_remaining: bool) {
        let is_limit = |name: &str| name.to_ascii_lowercase().replace(['-', '_'], "").contains("ratelimit");
        let pairs: Vec<(String, String)> = members
            .iter()
            .filter_map(|(name, value)| {
                let value = match value {
                    Value::String(text) => text.clone(),
                    Value::Number(number) => number.to_string(),
                    _ => return None,
                };
                let lower = name.to_ascii_lowercase();
                let is_part = lower.starts_with("reset") || lower == "remaining" || lower == "limit";
                if is_limit(name) {
                    Some((name.clone(), value))
                } else if has_remaining && is_part {
                    Some((format!("limit.{name}"), value))
                } else {
                    None
                }
            })
            .collect();
        if pairs.len() < 2 {
            return;
        }
        let pairs = pairs.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let pointer = &self.pointer;
        let source = |name: &str| {
            Source::body(&format!("{pointer}/{}", escape(name.strip_prefix("limit.").unwrap_or(name))))
        };
        self.found.limits.extend(limit::of_pairs(pairs, source));
    }

    fn inside(&mut self, name: &str, visit: impl FnOnce(&mut Self)) {
        let length = self.pointer.len();
        self.pointer.push('/');
        self.pointer.push_str(&escape(name));
        visit(self);
        self.pointer.truncate(length);
    }
}

fn escape(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}
