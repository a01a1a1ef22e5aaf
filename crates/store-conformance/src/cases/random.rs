//! Random operations, on the store and on store-memory side by side: both answer the same.
//!
//! What a store may choose for itself is not compared: the numbers of versions, tokens and revisions. A version is checked to
//! grow, and each side is given its own.

mod operations;
mod world;

use std::sync::Arc;

use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use crate::Fixture;
use crate::cases::random::world::World;

/// Sequences of operations that are tried.
const N_SEQUENCES: u32 = 40;

/// Names a number that makes another set of sequences.
const SEED_VARIABLE: &str = "AGRAJAG_SEED";

/// Random sequences of commits, deletes, hits, claims, rules and sweeps leave the store as they leave store-memory, with the
/// same answers on the way, and the feed tells a follower all of it. A failure prints the seed and the shortest sequence found.
pub async fn random_operations_agree_with_the_model(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let seed: u64 =
        std::env::var(SEED_VARIABLE).ok().map_or(1, |it| it.parse().expect("the seed is a number"));
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let config =
        Config { cases: N_SEQUENCES, max_shrink_iters: 500, failure_persistence: None, ..Config::default() };
    let outcome = tokio::task::block_in_place(|| {
        let runtime = tokio::runtime::Handle::current();
        TestRunner::new_with_rng(config, rng).run(&operations::sequence(), |sequence| {
            runtime.block_on(async {
                let mut world = World::new(Arc::clone(&store)).await;
                for operation in &sequence {
                    world.apply(operation).await;
                }
                world.compare().await;
            });
            Ok(())
        })
    });
    if let Err(error) = outcome {
        panic!("{SEED_VARIABLE}={seed}: {error}");
    }
}
