//! Random numbers that follow from a seed, so that a failed run can be repeated.
//!
//! Good enough to choose what to do next; no more.

use std::hash::{BuildHasher, RandomState};

use crate::env;

/// A generator of the splitmix family.
#[derive(Debug, Clone)]
pub struct Random {
    state: u64,
}

impl Random {
    /// The generator of `seed`.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// A generator with a fresh seed, or that of [`env::SEED`]; the seed is printed, which a failed test shows.
    ///
    /// # Panics
    ///
    /// If the variable holds no number.
    #[must_use]
    pub fn announced(what: &str) -> Self {
        let seed = match std::env::var(env::SEED) {
            Ok(text) => text.parse().unwrap_or_else(|_| panic!("`{}` is no number: `{text}`", env::SEED)),
            Err(_) => RandomState::new().hash_one(what),
        };
        eprintln!("{what}: seed {seed}; repeat with {}={seed}", env::SEED);
        Self::new(seed)
    }

    /// The next number.
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `limit`; 0 if `limit` is 0.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.next_u64().checked_rem(limit).unwrap_or(0)
    }

    /// An index into something of this length; 0 if it is empty.
    pub fn index(&mut self, len: usize) -> usize {
        usize::try_from(self.below(len as u64)).unwrap_or(0)
    }

    /// True once in `n` times.
    pub fn once_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// `len` bytes.
    pub fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.next_u64().to_le_bytes()[0]).collect()
    }

    /// One of several; they must not be none.
    pub fn pick<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.index(all.len())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_numbers() {
        let mut one = Random::new(7);
        let mut other = one.clone();
        let numbers: Vec<u64> = (0..100).map(|_| one.next_u64()).collect();
        assert!(numbers.iter().all(|it| *it == other.next_u64()));
        assert!((0..1_000).all(|_| one.below(10) < 10));
        assert_eq!(one.below(0), 0);
    }
}
