//! The machine codes that the rules of a table name, and how two spellings are one code.

use std::collections::BTreeSet;

/// The longest code that is looked at, in bytes of its letters and digits.
const MAX_CODE_BYTES: usize = 64;

/// A suffix that says that it is a code, and no more.
const SUFFIX: &[u8] = b"exception";

/// The letters and digits of a word in lower case, without a trailing `exception`; `None` if there are none or too many.
pub(crate) fn normalise(word: &str) -> Option<Box<[u8]>> {
    let mut buffer = [0; MAX_CODE_BYTES];
    squeeze(word, &mut buffer).map(Box::from)
}

fn squeeze<'b>(word: &str, buffer: &'b mut [u8; MAX_CODE_BYTES]) -> Option<&'b [u8]> {
    let mut n = 0;
    for byte in word.bytes().filter(u8::is_ascii_alphanumeric) {
        *buffer.get_mut(n)? = byte.to_ascii_lowercase();
        n += 1;
    }
    let squeezed = buffer.get(..n)?;
    let bare = squeezed.strip_suffix(SUFFIX).filter(|it| !it.is_empty()).unwrap_or(squeezed);
    (!bare.is_empty()).then_some(bare)
}

/// The codes of a table, numbered.
#[derive(Debug, Clone, Default)]
pub(crate) struct CodeMap {
    /// Open addressing; a power of two, at most half full. 0 = free, else the code's number plus one.
    slots: Vec<u32>,
    codes: Vec<Box<[u8]>>,
}

impl CodeMap {
    /// Numbers the codes in their order; equal ones are one.
    pub(crate) fn build(codes: impl IntoIterator<Item = Box<[u8]>>) -> Self {
        let mut seen = BTreeSet::new();
        let codes: Vec<_> = codes.into_iter().filter(|it| seen.insert(it.clone())).collect();
        let mut map = Self { slots: vec![0; (codes.len() * 2).next_power_of_two()], codes };
        for id in 0..map.codes.len() {
            let Some(code) = map.codes.get(id) else { continue };
            let mut at = map.home(code);
            while map.slots.get(at).is_some_and(|it| *it != 0) {
                at = (at + 1) & (map.slots.len() - 1);
            }
            if let (Some(slot), Ok(id)) = (map.slots.get_mut(at), u32::try_from(id + 1)) {
                *slot = id;
            }
        }
        map
    }

    /// How many there are.
    pub(crate) const fn len(&self) -> usize {
        self.codes.len()
    }

    /// The number of a normalised code.
    pub(crate) fn id(&self, code: &[u8]) -> Option<u32> {
        if self.codes.is_empty() {
            return None;
        }
        let mut at = self.home(code);
        loop {
            let id = self.slots.get(at)?.checked_sub(1)?;
            if self.codes.get(id as usize).is_some_and(|it| **it == *code) {
                return Some(id);
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
    }

    /// Calls `found` with the number of the code that a word is, if it is one.
    pub(crate) fn find(&self, word: &str, mut found: impl FnMut(u32)) {
        let mut buffer = [0; MAX_CODE_BYTES];
        if let Some(id) = squeeze(word, &mut buffer).and_then(|it| self.id(it)) {
            found(id);
        }
    }

    /// FNV-1a: the keys are ours, so nobody can choose them to collide.
    fn home(&self, code: &[u8]) -> usize {
        let hash = code.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
        });
        #[expect(clippy::cast_possible_truncation, reason = "only the low bits are wanted")]
        let low = (hash ^ (hash >> 32)) as usize;
        low & (self.slots.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_code_are_one() {
        let map =
            CodeMap::build(["rateLimitExceeded", "Throttling", "1045"].iter().filter_map(|it| normalise(it)));
        let id = |word| {
            let mut id = None;
            map.find(word, |it| id = Some(it));
            id
        };
        let limit = id("rateLimitExceeded");
        assert!(limit.is_some());
        for word in [
            "RATE_LIMIT_EXCEEDED",
            "rate-limit-exceeded",
            "RateLimitExceededException",
            "rate_limit.exceeded",
        ] {
            assert_eq!(id(word), limit, "{word}");
        }
        assert_eq!(id("ThrottlingException"), id("throttling"));
        assert!(id("1045").is_some());
        for word in ["", "Exception", "rateLimit", "10451", &"x".repeat(100)] {
            assert_eq!(id(word), None, "{word}");
        }
        assert_eq!(CodeMap::default().id(b"x"), None);
    }
}
