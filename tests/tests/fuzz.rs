//! What fuzzing once found stays found, and the fuzzer finds what it is made for.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use agrajag_tests::fuzz::driver::{self, Until};
use agrajag_tests::fuzz::failure;
use agrajag_tests::fuzz::mutate::{self, MAX_BYTES};
use agrajag_tests::fuzz::seeds;
use agrajag_tests::fuzz::target::Target;
use agrajag_tests::random::Random;

/// A build without optimisation, on a machine that runs other tests.
const SLACK: u32 = 40;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("in a workspace").to_path_buf()
}

/// R143: no text makes reading rules or classifying panic, nor take more than its length allows.
#[test]
fn regressions_stay_fixed() {
    for target in [Target::Rules, Target::Classify] {
        let folder = root().join("crates/checker/tests/fixtures/fuzz").join(target.name());
        let mut n = 0;
        for entry in fs::read_dir(&folder).expect("the folder of regressions") {
            let path = entry.expect("a file").path();
            let input = fs::read(&path).expect("an input");
            if let Err(fault) = driver::run(target, &input, target.bound().times(SLACK)) {
                panic!("{}: {fault:?}", path.display());
            }
            n += 1;
        }
        assert!(n > 0, "{}: at least the inputs that are written by hand", folder.display());
    }
}

/// A short run from every seed, always the same one.
#[test]
fn a_short_run_of_each_target_finds_nothing() {
    for target in [Target::Rules, Target::Classify] {
        let seeds = seeds::of(target, &root()).expect("seeds");
        let n = seeds.len() as u64;
        let mut faults = Vec::new();
        let mut random = Random::new(1);
        for _ in 0..300 {
            let mut input = seeds[random.index(seeds.len())].clone();
            let other = &seeds[random.index(seeds.len())];
            mutate::mutate(&mut input, other, &mut random);
            assert!(input.len() <= MAX_BYTES);
            faults.extend(driver::run(target, &input, target.bound().times(SLACK)).err());
        }
        assert_eq!(faults, [], "{target:?} of {n} seeds");
    }
}

/// A run follows from its seed; the bound is told from the length; what is slow is found.
#[test]
fn the_driver_is_repeatable_and_sees_what_is_slow() {
    let seeds = vec![b"wiki\x1em\x1e429\x1eretry-after: 5".to_vec()];
    let until = Until { runs: Some(200), time: None };
    let run = |seed| driver::fuzz(Target::Classify, seeds.clone(), seed, until, |_| {}, |_| {});
    let (one, same) = (run(3), run(3));
    assert_eq!((one.runs, one.kept), (same.runs, same.kept));
    assert!(one.finding.is_none() && one.kept > 3, "{one:?}");
    let none = Target::Classify.bound().times(0);
    assert_eq!(none.of(10), Duration::ZERO);
    let fault = driver::run(Target::Classify, &seeds[0], none).expect_err("nothing takes no time");
    assert!(matches!(fault, driver::Fault::Slow { .. }), "{fault:?}");
}

/// A failure and back: what the seeds hold is what the rows hold.
#[test]
fn a_row_survives_as_a_seed() {
    let line = r#"{"id": "a", "tool": {"name": "wiki", "kind": "mcp", "target": "argument"}, "error": {"httpStatus": 403, "headers": {"retry-after": "5"}, "exceptionType": "E", "errorCode": "UNAVAILABLE", "message": "m\nn", "body": "b"}, "expected": "USER_PERMISSION"}"#;
    let row = checker::corpus::parse_row(line).expect("a row");
    let (tool, failure) = failure::decode(&failure::encode(&row));
    assert_eq!((tool, failure), (row.tool, row.failure));
}
