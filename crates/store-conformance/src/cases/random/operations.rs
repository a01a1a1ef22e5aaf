//! What the operations are, and how they are drawn. Small numbers stand for keys, users and signatures, so that operations
//! meet each other often.

use proptest::collection::vec;
use proptest::prelude::*;

/// Keys that operations choose from.
pub(super) const N_KEYS: u8 = 16;

#[derive(Debug, Clone)]
pub(super) enum Operation {
    Commit { writes: Vec<Write>, jobs: Vec<Report>, outages: Vec<(u8, bool)> },
    DeleteOne(u8),
    DeleteTenant(u8),
    DeleteUser(u8),
    DeleteSession(u8),
    AddHits(Vec<(u8, u8, u64)>),
    List { filter: (Option<u8>, Option<u8>, Option<u8>, Option<u8>), limit: usize },
    Claim { lease: i64 },
    Extend { claim: usize, lease: i64 },
    Complete { claim: usize, is_stale: bool },
    PutRules { layer: u8, expectation: Expectation },
    DeleteRules { layer: u8, expectation: Expectation },
    Sweep { session_age: Option<i64>, tombstone_age: i64 },
    Pass { seconds: i64 },
    Compare,
}

#[derive(Debug, Clone)]
pub(super) struct Write {
    pub(super) key: u8,
    pub(super) content: u8,
    pub(super) expectation: Expectation,
}

/// Which version a write says it was decided on.
#[derive(Debug, Clone, Copy)]
pub(super) enum Expectation {
    /// What is there.
    Current,
    /// Nothing (of a rule layer: whatever is there).
    None,
    /// A version before.
    Stale,
}

/// An unclear failure.
#[derive(Debug, Clone)]
pub(super) struct Report {
    pub(super) key: u8,
    pub(super) signature: u8,
    pub(super) is_request: bool,
    /// Whose call it was.
    pub(super) user: u8,
}

pub(super) fn sequence() -> impl Strategy<Value = Vec<Operation>> {
    vec(operation(), 1..50)
}

fn operation() -> impl Strategy<Value = Operation> {
    let key = || 0..N_KEYS;
    let write = (key(), any::<u8>(), expectation()).prop_map(|(key, content, expectation)| Write {
        key,
        content,
        expectation,
    });
    let report = (key(), 0..2_u8, prop::bool::weighted(0.2), 0..3_u8)
        .prop_map(|(key, signature, is_request, user)| Report { key, signature, is_request, user });
    let seconds = || 0..40_i64;
    prop_oneof![
        12 => (vec(write, 0..4), vec(report, 0..3), vec((key(), any::<bool>()), 0..3))
            .prop_map(|(writes, jobs, outages)| Operation::Commit { writes, jobs, outages }),
        3 => key().prop_map(Operation::DeleteOne),
        1 => (0..2_u8).prop_map(Operation::DeleteTenant),
        1 => (0..2_u8).prop_map(Operation::DeleteUser),
        1 => (0..2_u8).prop_map(Operation::DeleteSession),
        3 => vec((key(), 0..8_u8, 0..5_u64), 0..4).prop_map(Operation::AddHits),
        2 => (filter(), 1..6_usize).prop_map(|(filter, limit)| Operation::List { filter, limit }),
        4 => seconds().prop_map(|lease| Operation::Claim { lease }),
        2 => (any::<usize>(), seconds()).prop_map(|(claim, lease)| Operation::Extend { claim, lease }),
        3 => (any::<usize>(), any::<bool>())
            .prop_map(|(claim, is_stale)| Operation::Complete { claim, is_stale }),
        2 => (0..4_u8, expectation())
            .prop_map(|(layer, expectation)| Operation::PutRules { layer, expectation }),
        1 => (0..4_u8, expectation())
            .prop_map(|(layer, expectation)| Operation::DeleteRules { layer, expectation }),
        1 => (prop::option::of(seconds()), seconds())
            .prop_map(|(session_age, tombstone_age)| Operation::Sweep { session_age, tombstone_age }),
        3 => seconds().prop_map(|seconds| Operation::Pass { seconds }),
        1 => Just(Operation::Compare),
    ]
}

fn expectation() -> impl Strategy<Value = Expectation> {
    prop_oneof![
        6 => Just(Expectation::Current),
        1 => Just(Expectation::None),
        1 => Just(Expectation::Stale),
    ]
}

fn filter() -> impl Strategy<Value = (Option<u8>, Option<u8>, Option<u8>, Option<u8>)> {
    let part = |n: u8| prop::option::weighted(0.3, 0..n);
    (part(4), part(2), part(2), part(3))
}
