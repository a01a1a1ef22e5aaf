//! Ids that follow from a seed.

use std::sync::atomic::{AtomicU64, Ordering};

use ports::Ids;
use uuid::Uuid;

/// An [`Ids`] whose sequence depends on its seed alone. Ids of different seeds differ.
///
/// They have the shape of version 7, with a counter in the place of the time: like those of production they sort in the
/// order in which they were made.
#[derive(Debug)]
pub struct SeededIds {
    seed: u64,
    made: AtomicU64,
}

impl SeededIds {
    /// The sequence of `seed`.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self { seed, made: AtomicU64::new(0) }
    }
}

impl Ids for SeededIds {
    fn next(&self) -> Uuid {
        let n = self.made.fetch_add(1, Ordering::Relaxed);
        let high = mix(self.seed ^ mix(n));
        let low = mix(high ^ self.seed.rotate_left(32));
        let mut random = [0_u8; 10];
        random[..8].copy_from_slice(&low.to_be_bytes());
        random[8..].copy_from_slice(&high.to_be_bytes()[..2]);
        uuid::Builder::from_unix_timestamp_millis(n, &random).into_uuid()
    }
}

/// The finishing steps of the splitmix generator: each bit of the input reaches every bit of the output.
const fn mix(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn take(seed: u64, n: usize) -> Vec<Uuid> {
        let ids = SeededIds::new(seed);
        std::iter::repeat_with(|| ids.next()).take(n).collect()
    }

    #[test]
    fn the_same_seed_gives_the_same_ids_in_order() {
        let ids = take(7, 1_000);
        assert_eq!(ids, take(7, 1_000));
        assert!(ids.is_sorted());
        assert!(ids.iter().all(|it| it.get_version_num() == 7));
    }

    #[test]
    fn no_id_comes_twice_also_over_seeds() {
        let all: BTreeSet<Uuid> = (0..10).flat_map(|seed| take(seed, 1_000)).collect();
        assert_eq!(all.len(), 10_000);
    }
}
