//! Outage rows: the time that a document was DOWN.

use ports::{Batch, DeleteSelector, Outage, OutageChange, Store};

use crate::Fixture;
use crate::values::*;

async fn change(store: &dyn Store, changes: Vec<OutageChange>) {
    let batch = Batch { outages: changes, ..Batch::default() };
    store.commit(&batch).await.expect("the outages are committed");
}

async fn outages(store: &dyn Store, name: &str) -> Vec<Outage> {
    store.list_outages(&tool(name), 1_000).await.expect("the outages")
}

/// An outage opens and closes; a second open and a close without one change nothing; the newest comes first.
pub async fn outages_open_and_close(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let key = tool("t");
    change(&*store, vec![close_outage(&key, at(1))]).await;
    assert!(outages(&*store, "t").await.is_empty(), "nothing was open");
    change(&*store, vec![open_outage(&key, at(2))]).await;
    let again = OutageChange::Open { key: key.clone(), signature: "another".to_owned(), at: at(3) };
    change(&*store, vec![again]).await;
    let first = Outage {
        key: key.clone(),
        signature: "http_503".to_owned(),
        started_at: at(2),
        ended_at: None,
        censored: false,
    };
    assert_eq!(outages(&*store, "t").await, std::slice::from_ref(&first));
    change(&*store, vec![close_outage(&key, at(9))]).await;
    change(&*store, vec![close_outage(&key, at(10))]).await;
    let first = Outage { ended_at: Some(at(9)), ..first };
    assert_eq!(outages(&*store, "t").await, std::slice::from_ref(&first));

    let unnamed = OutageChange::Open { key: key.clone(), signature: String::new(), at: at(20) };
    change(&*store, vec![unnamed]).await;
    let second = Outage { signature: String::new(), started_at: at(20), ended_at: None, ..first.clone() };
    assert_eq!(outages(&*store, "t").await, [second.clone(), first]);
    assert_eq!(store.list_outages(&key, 1).await.expect("the outages"), [second]);
    assert!(outages(&*store, "other").await.is_empty());
}

/// Several changes of one batch take effect in their order.
pub async fn outages_of_a_batch_are_in_order(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let key = tool("t");
    let flap = vec![
        open_outage(&key, at(1)),
        close_outage(&key, at(2)),
        open_outage(&key, at(3)),
        open_outage(&key, at(4)),
        close_outage(&key, at(5)),
        open_outage(&key, at(5)),
    ];
    change(&*store, flap).await;
    let spans: Vec<_> = outages(&*store, "t").await.iter().map(|it| (it.started_at, it.ended_at)).collect();
    assert_eq!(spans, [(at(5), None), (at(3), Some(at(5))), (at(1), Some(at(2)))]);
}

/// A delete ends an open outage as censored: its end was not seen. Closed ones stay as they are, and a document of the same
/// key starts with a new one.
pub async fn a_delete_censors_the_open_outage(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let key = tool("t");
    put(&*store, None, document(&key)).await;
    change(&*store, vec![open_outage(&key, at(1)), close_outage(&key, at(2)), open_outage(&key, at(3))])
        .await;
    store.delete(&DeleteSelector::One(key.clone()), at(7)).await.expect("the delete");
    let told =
        |it: &[Outage]| -> Vec<_> { it.iter().map(|it| (it.started_at, it.ended_at, it.censored)).collect() };
    let past = [(at(3), Some(at(7)), true), (at(1), Some(at(2)), false)];
    assert_eq!(told(&outages(&*store, "t").await), past);
    put(&*store, None, document(&key)).await;
    change(&*store, vec![close_outage(&key, at(8))]).await;
    assert_eq!(told(&outages(&*store, "t").await), past, "a censored outage is closed");
    change(&*store, vec![open_outage(&key, at(9))]).await;
    assert_eq!(told(&outages(&*store, "t").await)[0], (at(9), None, false));
}

/// DESIGN §7: the last 200 outages of a document are kept.
pub async fn the_last_200_outages_are_kept(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let (key, other) = (tool("t"), tool("other"));
    let mut changes = vec![open_outage(&other, at(0))];
    for n in 0..210 {
        changes.extend([open_outage(&key, at(n * 10)), close_outage(&key, at(n * 10 + 5))]);
    }
    change(&*store, changes).await;
    store.sweep(None, at(0), at(10_000)).await.expect("the sweep");
    let kept: Vec<_> = outages(&*store, "t").await.iter().map(|it| it.started_at).collect();
    let last: Vec<_> = (10..210).rev().map(|n| at(n * 10)).collect();
    assert_eq!(kept, last);
    assert_eq!(outages(&*store, "other").await.len(), 1);
}
