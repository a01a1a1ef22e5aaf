//! What `cargo xtask test` tells the tests about their surroundings.
//!
//! Owns the names of the variables. A test that needs one fails without it, and its message names the command that sets
//! it.

use std::path::PathBuf;

/// A PostgreSQL cluster without fsync; each test makes a database of its own in it.
pub const POSTGRES: &str = "AGRAJAG_TEST_PG";

/// The same with fsync, for tests that kill processes and for measurements.
pub const POSTGRES_DURABLE: &str = "AGRAJAG_TEST_PG_DURABLE";

/// A Python interpreter with the packages of `tests/python/requirements.txt`.
pub const PYTHON: &str = "AGRAJAG_TEST_PYTHON";

/// The built `agrajag` binary.
pub const BINARY: &str = "AGRAJAG_TEST_BIN";

/// A seed to use instead of a random one, to repeat a failed run.
pub const SEED: &str = "AGRAJAG_TEST_SEED";

/// The value of a variable that a test cannot do without.
///
/// # Panics
///
/// If it is not set.
#[must_use]
pub fn required(name: &str) -> String {
    let value = std::env::var(name).ok().filter(|it| !it.is_empty());
    value.unwrap_or_else(|| {
        panic!("`{name}` is not set; run the tests with `cargo xtask test`, which sets it")
    })
}

/// The built binary.
///
/// # Panics
///
/// If [`BINARY`] is not set.
#[must_use]
pub fn binary() -> PathBuf {
    required(BINARY).into()
}

/// The folder of the repository.
#[must_use]
pub fn repository() -> PathBuf {
    let tests = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    tests.parent().map_or_else(|| tests.clone(), std::path::Path::to_path_buf)
}
