//! The journal of failures: order, pages, the limit, whose it is.

use std::sync::Arc;

use chrono::TimeDelta;
use health_model::Instant;
use health_model::vocabulary::Scope;
use ports::{DeleteSelector, FailureEntry, FailurePlace, Store};

use crate::Fixture;
use crate::values::*;

/// Failure number `n`, reported `n` seconds in.
fn failure(tenant: &str, project: &str, n: u64) -> FailureEntry {
    FailureEntry {
        id: id(n),
        tenant_id: tenant.to_owned(),
        project_id: project.to_owned(),
        at: at(i64::try_from(n).expect("a small number")),
        content: format!("failure {n}"),
    }
}

async fn append(store: &dyn Store, entries: &[FailureEntry], keep: usize) {
    store.append_failures(entries, keep).await.expect("the failures are appended");
}

async fn list(store: &dyn Store, tenant: &str) -> Vec<FailureEntry> {
    store.list_failures(tenant, None, None, 1_000).await.expect("the failures are listed").entries
}

fn contents(entries: &[FailureEntry]) -> Vec<&str> {
    entries.iter().map(|it| it.content.as_str()).collect()
}

/// What was reported last comes first, in whatever order it was appended; an entry comes back as it was, its instant to the
/// microsecond, for every handle.
pub async fn failures_are_listed_latest_first(fixture: &dyn Fixture) {
    let (store, other) = (fixture.open().await, fixture.open().await);
    assert_eq!(list(&*store, TENANT).await, []);
    append(&*store, &[], 10).await;
    let odd = "{\"body\":\"'\\\\ \u{0} \u{1f600} \u{e000}0 \u{feff} ?1 $1 --\"}";
    let entries = [
        FailureEntry { content: odd.to_owned(), ..failure(TENANT, "essay", 3) },
        failure(TENANT, "other", 1),
        // Of one instant: the greater id is the later one.
        FailureEntry { at: at(1), ..failure(TENANT, "essay", 5) },
        FailureEntry { at: at(2) + TimeDelta::nanoseconds(1_999), ..failure(TENANT, "essay", 2) },
    ];
    append(&*store, &entries[..2], 10).await;
    append(&*other, &entries[2..], 10).await;
    for handle in [&store, &other] {
        let found = list(&**handle, TENANT).await;
        assert_eq!(contents(&found), [odd, "failure 2", "failure 5", "failure 1"]);
        assert_eq!(found[0], entries[0]);
        assert_eq!(found[1].at, at(2) + TimeDelta::microseconds(1));
        assert_eq!(found[3].project_id, "other");
    }
}

/// A page goes on before a place, be it on record or not, and holds one to a thousand; a project's own are told apart.
pub async fn pages_of_failures_go_on_before_their_place(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let project = |n: u64| if n.is_multiple_of(3) { "thirds" } else { "essay" };
    let entries: Vec<_> = (0..1_005).map(|n| failure(TENANT, project(n), n)).collect();
    append(&*store, &entries, 2_000).await;

    let mut before = None;
    let mut n_pages = 0;
    let mut found = Vec::new();
    loop {
        let page = store.list_failures(TENANT, None, before, 201).await.expect("a page").entries;
        assert!(page.len() <= 201);
        let Some(last) = page.last() else { break };
        before = Some(last.place());
        n_pages += 1;
        found.extend(page);
    }
    let expected: Vec<_> = entries.iter().rev().cloned().collect();
    assert_eq!(found, expected);
    assert_eq!(n_pages, 5);

    let thirds = store.list_failures(TENANT, Some("thirds"), before, 10).await.expect("a page").entries;
    assert_eq!(thirds, [], "nothing is before the first");
    let before = Some(FailurePlace { at: at(10), id: id(9_999) });
    let thirds = store.list_failures(TENANT, Some("thirds"), before, 3).await.expect("a page").entries;
    assert_eq!(contents(&thirds), ["failure 9", "failure 6", "failure 3"], "a place that is not on record");
    assert_eq!(store.list_failures(TENANT, Some("nobody"), None, 3).await.expect("a page").entries, []);
    for (limit, expected) in [(0, 1), (1, 1), (5_000, 1_000)] {
        let page = store.list_failures(TENANT, None, None, limit).await.expect("a page").entries;
        assert_eq!(page.len(), expected, "{limit}");
    }
}

/// A row that cannot be read hides no other, wherever it stands, and is counted once: a page is full or the last one.
pub async fn a_page_of_failures_goes_on_behind_rows_that_cannot_be_read(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let project = |n: u64| if n.is_multiple_of(3) { "thirds" } else { "essay" };
    let entries: Vec<_> = (0..12).map(|n| failure(TENANT, project(n), n)).collect();
    append(&*store, &entries, 20).await;
    let damaged = [11, 9, 8, 7, 6, 2, 0];
    for n in damaged {
        fixture.damage_failure(id(n)).await;
    }
    for (of, limit) in
        [None, Some("thirds"), Some("essay")].into_iter().flat_map(|of| [1, 2, 3, 5, 100].map(|it| (of, it)))
    {
        let is_wanted = |n: &u64| of.is_none_or(|it| it == project(*n));
        let (mut found, mut n_unreadable, mut before) = (Vec::new(), 0, None);
        loop {
            let page = store.list_failures(TENANT, of, before, limit).await.expect("a page");
            let is_last = page.entries.len() < limit;
            n_unreadable += page.n_unreadable;
            before = page.entries.last().map(FailureEntry::place).or(before);
            found.extend(page.entries);
            if is_last {
                break;
            }
        }
        let readable = (0..12).rev().filter(|it| !damaged.contains(it)).filter(is_wanted);
        let expected: Vec<_> = readable.map(|n| format!("failure {n}")).collect();
        assert_eq!(contents(&found), expected, "{of:?}, {limit} a page");
        assert_eq!(n_unreadable, damaged.iter().filter(|it| is_wanted(it)).count(), "{of:?}, {limit} a page");
    }
}

/// An append leaves the latest ones, of the tenants that it is about alone.
pub async fn the_latest_failures_are_kept(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    append(&*store, &(0..4).map(|n| failure("bolt", "p", 100 + n)).collect::<Vec<_>>(), 9).await;
    append(&*store, &(0..7).map(|n| failure(TENANT, "p", n)).collect::<Vec<_>>(), 5).await;
    let expected = ["failure 6", "failure 5", "failure 4", "failure 3", "failure 2"];
    assert_eq!(contents(&list(&*store, TENANT).await), expected, "of one append");

    append(&*store, &[failure(TENANT, "p", 7), failure(TENANT, "q", 1)], 5).await;
    let found = list(&*store, TENANT).await;
    assert_eq!(contents(&found), ["failure 7", "failure 6", "failure 5", "failure 4", "failure 3"]);
    append(&*store, &[failure(TENANT, "p", 8)], 2).await;
    assert_eq!(contents(&list(&*store, TENANT).await), ["failure 8", "failure 7"], "a smaller limit");
    assert_eq!(list(&*store, "bolt").await.len(), 4, "another tenant has its own");
    append(&*store, &[failure(TENANT, "p", 9), failure("bolt", "p", 200)], 1).await;
    assert_eq!(contents(&list(&*store, TENANT).await), ["failure 9"]);
    assert_eq!(contents(&list(&*store, "bolt").await), ["failure 200"]);
    append(&*store, &[failure(TENANT, "p", 10)], 0).await;
    assert_eq!(list(&*store, TENANT).await, []);
    assert_eq!(list(&*store, "bolt").await.len(), 1);
}

/// The same append again changes nothing, and none of them is an event.
pub async fn an_append_of_failures_can_be_repeated(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let key = tool("t");
    let version = put(&*store, None, document(&key)).await;
    let head = store.head().await.expect("a head");
    let entries = [failure(TENANT, "p", 1), failure(TENANT, "p", 2)];
    append(&*store, &entries, 5).await;
    append(&*store, &entries, 5).await;
    let again = FailureEntry { content: "something else".to_owned(), ..failure(TENANT, "p", 2) };
    append(&*store, &[again, failure(TENANT, "p", 3)], 5).await;
    let found = list(&*store, TENANT).await;
    assert_eq!(contents(&found), ["failure 3", "failure 2", "failure 1"]);
    assert_eq!(store.changes(&head, 10).await.expect("the feed").changes, []);
    assert_eq!(load(&*store, &key).await.expect("it is there").version, version);
}

/// DESIGN §4: one tenant's journal is never read or trimmed for another, and goes with the tenant alone: nobody is named in it.
pub async fn a_journal_goes_with_its_tenant(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    for (n, tenant) in (0..).zip([TENANT, "bolt", "ACME"]) {
        append(&*store, &[failure(tenant, "p", n * 10), failure(tenant, "q", n * 10 + 1)], 5).await;
    }
    assert_eq!(contents(&list(&*store, TENANT).await), ["failure 1", "failure 0"]);
    assert_eq!(contents(&list(&*store, "bolt").await), ["failure 11", "failure 10"]);
    assert_eq!(contents(&list(&*store, "ACME").await), ["failure 21", "failure 20"], "bytes are compared");
    assert_eq!(list(&*store, "").await, []);

    let (tenant_id, now): (_, Instant) = (TENANT.to_owned(), at(100));
    let others = [
        DeleteSelector::One(key(TENANT, Scope::Project, "p", "t")),
        DeleteSelector::User { tenant_id: tenant_id.clone(), user_id: "p".to_owned() },
        DeleteSelector::Session { tenant_id: tenant_id.clone(), session_id: "p".to_owned() },
        DeleteSelector::Tenant { tenant_id: "nobody".to_owned() },
    ];
    for selector in others {
        store.delete(&selector, now).await.expect("the delete");
        assert_eq!(list(&*store, TENANT).await.len(), 2, "{selector:?}");
    }
    store.delete(&DeleteSelector::Tenant { tenant_id }, now).await.expect("the delete");
    assert_eq!(list(&*store, TENANT).await, []);
    assert_eq!((list(&*store, "bolt").await.len(), list(&*store, "ACME").await.len()), (2, 2));
    append(&*store, &[failure(TENANT, "p", 0)], 5).await;
    assert_eq!(contents(&list(&*store, TENANT).await), ["failure 0"], "it begins again");
}

/// Servers that append at once leave no more than the limit, and what is left is the latest.
pub async fn appends_of_two_handles_keep_the_limit(fixture: &dyn Fixture) {
    let mut writers = tokio::task::JoinSet::new();
    for handle in 0..2_u64 {
        let store: Arc<dyn Store> = fixture.open().await;
        writers.spawn(async move {
            for round in 0..10_u64 {
                let entries: Vec<_> =
                    (0..20).map(|n| failure(TENANT, "p", round * 100 + n * 2 + handle)).collect();
                append(&*store, &entries, 50).await;
            }
        });
    }
    while let Some(done) = writers.join_next().await {
        done.expect("an append fails");
    }
    let found = list(&*fixture.open().await, TENANT).await;
    assert_eq!(found.len(), 50);
    let numbers = (0..40).rev().map(|n| 900 + n).chain((30..40).rev().map(|n| 800 + n));
    let expected: Vec<_> = numbers.map(|n| failure(TENANT, "p", n)).collect();
    assert_eq!(found, expected);
}
