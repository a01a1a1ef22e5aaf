//! The `shown` token: what a conversation was told, as hashes of (tool, words) pairs, at most 1 KiB (DESIGN §5).
//!
//! The service keeps nothing for it: the brain holds the token with its conversation and sends it back, so that the
//! answer can say what recovered since, once.

use std::collections::BTreeSet;

const VERSION: u8 = 1;
/// 1 + 127 × 8 = 1,017 bytes.
const PAIR_LIMIT: usize = 127;

/// What was shown. Decoded leniently: a token that cannot be read counts as empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Shown {
    pairs: Vec<(u32, u32)>,
}

impl Shown {
    /// Reads a token. `None` = it is none of ours.
    pub(crate) fn decode(token: &[u8]) -> Option<Self> {
        if token.is_empty() {
            return Some(Self::default());
        }
        let (version, rest) = token.split_first()?;
        if *version != VERSION || rest.len() % 8 != 0 || rest.len() / 8 > PAIR_LIMIT {
            return None;
        }
        let word = |it: &[u8]| it.try_into().map(u32::from_le_bytes).unwrap_or_default();
        let pairs = rest.chunks_exact(8).map(|it| (word(&it[..4]), word(&it[4..]))).collect();
        Some(Self { pairs })
    }

    /// Whether trouble of this tool was shown.
    pub(crate) fn holds(&self, tool: &str) -> bool {
        let hash = hash(tool);
        self.pairs.iter().any(|it| it.0 == hash)
    }

    /// The token for next time: what is shown now, and what was shown before and is neither shown nor recovered yet.
    pub(crate) fn next<'a>(
        &self,
        shown: impl IntoIterator<Item = (&'a str, &'a str)>,
        settled: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let mut pairs: Vec<(u32, u32)> = Vec::new();
        let mut known: BTreeSet<u32> = BTreeSet::new();
        for (tool, words) in shown {
            if known.insert(hash(tool)) {
                pairs.push((hash(tool), hash(words)));
            }
        }
        known.extend(settled.into_iter().map(hash));
        pairs.extend(self.pairs.iter().filter(|it| !known.contains(&it.0)));
        pairs.truncate(PAIR_LIMIT);
        Self { pairs }
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        if self.pairs.is_empty() {
            return Vec::new();
        }
        let mut token = vec![VERSION];
        for (tool, words) in &self.pairs {
            token.extend(tool.to_le_bytes());
            token.extend(words.to_le_bytes());
        }
        token
    }
}

/// FNV-1a, folded: the same on every server and in every version.
fn hash(text: &str) -> u32 {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in text.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    (hash ^ (hash >> 32)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_says_what_was_shown_until_it_is_settled() {
        let first = Shown::default().next([("jira", "down"), ("wiki", "down")], []);
        let read = Shown::decode(&first.encode()).expect("our own token");
        assert!(read.holds("jira") && read.holds("wiki") && !read.holds("mail"));
        let second = read.next([("wiki", "down")], ["jira"]);
        assert!(!second.holds("jira") && second.holds("wiki"));
        let third = second.next([], []);
        assert!(third.holds("wiki"), "shown, not shown now, not recovered: kept until it is");
    }

    #[test]
    fn a_token_is_at_most_a_kibibyte_and_strangers_are_refused() {
        let names: Vec<String> = (0..1_000).map(|n| format!("tool_{n}")).collect();
        let token = Shown::default().next(names.iter().map(|it| (it.as_str(), "x")), []).encode();
        assert!(token.len() <= 1_024);
        assert!(Shown::decode(&token).is_some());
        assert_eq!(Shown::decode(b"\x02whatever"), None);
        assert_eq!(Shown::decode(&[1, 2, 3]), None);
        assert_eq!(Shown::decode(b""), Some(Shown::default()));
    }
}
