//! tmp
use agrajag_tests::fuzz::failure;
use checker::{Options, RuleTable, Settings};
use health_model::{Caller, Cascade, Policy, View};
use std::time::Instant;
#[test]
fn t() {
    let table = RuleTable::bundled(Options::default());
    let path = std::env::var("ZZ")
        .unwrap_or("../crates/checker/tests/fixtures/fuzz/classify/8975b13309351597.bin".into());
    let input = std::fs::read(path).unwrap();
    let text = String::from_utf8_lossy(&input);
    let (tool, failure) = failure::decode(&text);
    let now = chrono::DateTime::<chrono::Utc>::from_timestamp(1_796_040_000, 0).unwrap();
    for k in [1usize, 2, 4] {
        let mut failure = failure.clone();
        failure.message = failure.message.repeat(k);
        failure.body = failure.body.repeat(k);
        let b = Instant::now();
        let facts = table.facts(&tool, &failure);
        let f = b.elapsed();
        let b = Instant::now();
        let _ = facts.json();
        let j = b.elapsed();
        let b = Instant::now();
        let _ = facts.derived();
        let d = b.elapsed();
        let b = Instant::now();
        let r = table.classify_facts(&facts).rule().id.clone();
        let c = b.elapsed();
        let b = Instant::now();
        let ra = checker::decide::retry_after(&failure, now);
        let t = b.elapsed();
        let caller = Caller {
            tenant_id: "t".into(),
            project_id: "p".into(),
            user_id: Some("u".into()),
            session_id: None,
            locale: None,
        };
        let view = View { cascade: Cascade::default(), user_id: None };
        let b = Instant::now();
        let _ = checker::decide(
            &table,
            &caller,
            &tool,
            &failure,
            &view,
            &Policy::default(),
            &Settings::default(),
            now,
        );
        eprintln!(
            "x{k} {} bytes: facts {f:?} json {j:?} kind {d:?} classify {c:?} ({r}) retry {t:?} decide {:?} {:?}",
            failure.message.len() + failure.body.len(),
            b.elapsed(),
            ra.is_some()
        );
    }
}
