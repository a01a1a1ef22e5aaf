//! Page tokens: where a list goes on, tied to its filters. Opaque to clients; one that was made for other filters is
//! refused, since it would skip or repeat entries.

use std::hash::{DefaultHasher, Hash, Hasher};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::Error;

/// Entries of a page where the request names no number.
const DEFAULT_SIZE: usize = 100;

#[derive(Serialize, Deserialize)]
struct Token<K> {
    /// What the filters hash to. Stable within one build, which is as long as a list is walked.
    filters: u64,
    after: K,
}

/// How many entries to answer.
pub(crate) fn size(wire: u32, max: usize) -> usize {
    match usize::try_from(wire).unwrap_or(usize::MAX) {
        0 => DEFAULT_SIZE.min(max),
        n => n.min(max),
    }
}

/// What the filters of a list are told apart by.
pub(crate) fn filters(it: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    it.hash(&mut hasher);
    hasher.finish()
}

pub(crate) fn write<K: Serialize>(filters: u64, after: K) -> Result<String, Error> {
    let json = serde_json::to_vec(&Token { filters, after }).map_err(|_| Error::Internal)?;
    let hex = |it: u8| char::from_digit(u32::from(it), 16).unwrap_or('0');
    Ok(json.iter().flat_map(|it| [hex(it >> 4), hex(it & 15)]).collect())
}

/// `None` = the first page.
pub(crate) fn read<K: DeserializeOwned>(filters: u64, token: &str) -> Result<Option<K>, Error> {
    if token.is_empty() {
        return Ok(None);
    }
    let wrong = || {
        Error::field(
            "page_token",
            "was not made by this service for these filters; begin again with an empty one",
        )
    };
    let digits: Option<Vec<u8>> =
        token.chars().map(|it| it.to_digit(16).and_then(|it| u8::try_from(it).ok())).collect();
    let digits = digits.filter(|it| it.len() % 2 == 0).ok_or_else(wrong)?;
    let json: Vec<u8> =
        digits.chunks_exact(2).map(|it| it.iter().fold(0, |high, low| high << 4 | low)).collect();
    let token: Token<K> = serde_json::from_slice(&json).map_err(|_| wrong())?;
    if token.filters == filters { Ok(Some(token.after)) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_goes_on_where_it_was_made_and_nowhere_else() {
        let (these, others) = (filters(&("acme", 1)), filters(&("acme", 2)));
        let token = write(these, "é/jira".to_owned()).unwrap();
        assert_eq!(read::<String>(these, &token).unwrap().as_deref(), Some("é/jira"));
        assert_eq!(read::<String>(these, "").unwrap(), None);
        for (filters, token) in
            [(others, token.as_str()), (these, "zz"), (these, "abc"), (these, "00"), (these, "é")]
        {
            let error = read::<String>(filters, token).unwrap_err();
            assert_eq!(error.violations()[0].field, "page_token", "{token}");
        }
    }

    #[test]
    fn sizes_have_a_default_and_a_bound() {
        assert_eq!((size(0, 1_000), size(7, 1_000), size(5_000, 1_000), size(0, 50)), (100, 7, 1_000, 50));
    }
}
