//! Values of settings that have a form of their own: spans of time, stores.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use chrono::TimeDelta;
use serde::{Deserialize, Deserializer, Serialize};

/// A span of time as people write it: `250ms`, `30s`, `5m`, `1h`, `7d`. Whole numbers, one unit, at most 100 years.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Span(u64);

/// How long something is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Retention {
    /// This long after the last write.
    After(Span),
    /// For good: written `never`.
    Never,
}

/// Where the documents are kept.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum StoreUrl {
    /// `memory:`: gone when the server ends.
    Memory,
    /// `sqlite:PATH`: one file.
    Sqlite(PathBuf),
    /// `postgres://…`: a shared database. The whole URL.
    Postgres(String),
}

const MAX_MILLIS: u64 = 100 * 365 * 86_400_000;

const UNITS: [(&str, u64); 5] = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];

impl Span {
    /// Milliseconds.
    #[must_use]
    pub const fn millis(n: u64) -> Self {
        Self(n)
    }

    /// Seconds.
    #[must_use]
    pub const fn secs(n: u64) -> Self {
        Self(n * 1_000)
    }

    /// Hours.
    #[must_use]
    pub const fn hours(n: u64) -> Self {
        Self(n * 3_600_000)
    }

    /// For timers.
    #[must_use]
    pub const fn duration(self) -> Duration {
        Duration::from_millis(self.0)
    }

    /// For arithmetic with instants.
    #[must_use]
    pub fn delta(self) -> TimeDelta {
        TimeDelta::milliseconds(i64::try_from(self.0).unwrap_or(i64::MAX / 1_000))
    }
}

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!("`{text}` is no span of time; write a whole number and ms, s, m, h or d, such as `30s`")
        };
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let (number, unit) = text.split_at(digits);
        let (_, factor) = UNITS.into_iter().find(|(it, _)| *it == unit.trim()).ok_or_else(wrong)?;
        let number: u64 = number.parse().map_err(|_| wrong())?;
        number
            .checked_mul(factor)
            .filter(|it| *it <= MAX_MILLIS)
            .map(Self)
            .ok_or_else(|| format!("`{text}` is longer than 100 years"))
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, factor) = UNITS
            .into_iter()
            .rev()
            .find(|(_, factor)| self.0 != 0 && self.0.is_multiple_of(*factor))
            .unwrap_or(("ms", 1));
        write!(f, "{}{unit}", self.0 / factor)
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Retention {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "never" { Ok(Self::Never) } else { text.parse().map(Self::After) }
    }
}

impl fmt::Display for Retention {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::After(span) => span.fmt(f),
            Self::Never => f.write_str("never"),
        }
    }
}

impl FromStr for StoreUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "memory:" {
            return Ok(Self::Memory);
        }
        if let Some(path) = text.strip_prefix("sqlite:") {
            let path = path.strip_prefix("//").unwrap_or(path);
            if path.is_empty() {
                return Err("a path must follow `sqlite:`; write `sqlite:PATH`".to_owned());
            }
            return Ok(Self::Sqlite(PathBuf::from(path)));
        }
        if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            return Ok(Self::Postgres(text.to_owned()));
        }
        Err(format!(
            "`{}` is no store; write `sqlite:PATH`, `postgres://USER@HOST/DATABASE` or `memory:`",
            without_password(text)
        ))
    }
}

impl StoreUrl {
    /// `memory`, `sqlite` or `postgres`.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Sqlite(_) => "sqlite",
            Self::Postgres(_) => "postgres",
        }
    }

    /// As it is used, with its password. Never print it.
    #[must_use]
    pub fn exposed(&self) -> String {
        match self {
            Self::Memory => "memory:".to_owned(),
            Self::Sqlite(path) => format!("sqlite:{}", path.display()),
            Self::Postgres(url) => url.clone(),
        }
    }
}

/// Without its password: for logs, errors and `--print-config`.
impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&without_password(&self.exposed()))
    }
}

impl fmt::Debug for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// An address with its port. `localhost` is taken as 127.0.0.1: which address else it is would be for the resolver to
/// say, and not everywhere the same.
pub(super) fn address<'de, D: Deserializer<'de>>(from: D) -> Result<SocketAddr, D::Error> {
    let text = String::deserialize(from)?;
    parse_address(&text).ok_or_else(|| serde::de::Error::custom(NO_ADDRESS))
}

/// As [`address`], where there may be none.
pub(super) fn optional_address<'de, D: Deserializer<'de>>(from: D) -> Result<Option<SocketAddr>, D::Error> {
    let Some(text) = Option::<String>::deserialize(from)? else { return Ok(None) };
    parse_address(&text).map(Some).ok_or_else(|| serde::de::Error::custom(NO_ADDRESS))
}

const NO_ADDRESS: &str = "write ADDRESS:PORT, for example 127.0.0.1:4243";

fn parse_address(text: &str) -> Option<SocketAddr> {
    match text.strip_prefix("localhost:") {
        Some(port) => Some(SocketAddr::from(([127, 0, 0, 1], port.parse().ok()?))),
        None => text.parse().ok(),
    }
}

/// `postgres://user:secret@host/db?password=secret` with both secrets masked.
fn without_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    // The password may itself hold an @: the last one ends it.
    let authority = match authority.rsplit_once('@') {
        Some((user, host)) => match user.split_once(':') {
            Some((user, _)) => format!("{user}:***@{host}"),
            None => authority.to_owned(),
        },
        None => authority.to_owned(),
    };
    let path = match path.split_once('?') {
        Some((path, query)) => {
            let query: Vec<_> = query
                .split('&')
                .map(|it| if it.starts_with("password=") { "password=***" } else { it })
                .collect();
            format!("{path}?{}", query.join("&"))
        }
        None => path.to_owned(),
    };
    format!("{scheme}://{authority}{path}")
}

macro_rules! text_form {
    ($name:ident, $text:expr) => {
        impl TryFrom<String> for $name {
            type Error = String;

            fn try_from(text: String) -> Result<Self, String> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(value: $name) -> Self {
                let text: fn(&$name) -> Self = $text;
                text(&value)
            }
        }
    };
}

text_form!(Span, |it| it.to_string());
text_form!(Retention, |it| it.to_string());
text_form!(StoreUrl, StoreUrl::exposed);
