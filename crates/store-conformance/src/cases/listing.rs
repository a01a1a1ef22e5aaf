//! Listing documents: filters, order, pages.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use health_model::vocabulary::{Scope, Status};
use health_model::{Document, DocumentKey};
use ports::{DeleteSelector, DocumentFilter, Store};

use crate::Fixture;
use crate::values::*;

/// A tenant with documents of every scope, some with a status, and a neighbour with the same ids.
async fn populate(store: &dyn Store) -> Vec<Document> {
    let mut all = Vec::new();
    for tenant in [TENANT, "bolt"] {
        for scope in [Scope::Session, Scope::User, Scope::Project, Scope::Tenant] {
            for scope_id in ["one", "two"] {
                for (tool, status) in [
                    ("a", None),
                    ("b", Some(Status::Ok)),
                    ("c", Some(Status::Degraded)),
                    ("d", Some(Status::Down)),
                ] {
                    let key = key(tenant, scope, scope_id, tool);
                    let document = status.map_or_else(|| document(&key), |it| with_status(&key, it));
                    put(store, None, document.clone()).await;
                    all.push(document);
                }
            }
        }
    }
    all.sort_by(|a, b| a.key.cmp(&b.key));
    all
}

fn keys(found: &[ports::Versioned]) -> Vec<DocumentKey> {
    found.iter().map(|it| it.document.key.clone()).collect()
}

/// R39, R40: every combination of scope, scope id, tool and status lists exactly the documents that match all of it,
/// sorted by (scope from narrow to wide, scope id, tool name); documents without a status match no status.
pub async fn filters_list_what_matches(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let all = populate(&*store).await;
    let scopes = [None, Some(Scope::Session), Some(Scope::Project), Some(Scope::Global)];
    let scope_ids = [None, Some("two"), Some("absent")];
    let tools = [None, Some("a"), Some("d"), Some("absent")];
    let statuses = [None, Some(Status::Ok), Some(Status::Degraded), Some(Status::Down)];
    for scope in scopes {
        for scope_id in scope_ids {
            for tool in tools {
                for status in statuses {
                    let filter = DocumentFilter {
                        tenant_id: TENANT.to_owned(),
                        scope,
                        scope_id: scope_id.map(str::to_owned),
                        tool_name: tool.map(str::to_owned),
                        status,
                    };
                    let expected: Vec<DocumentKey> = all
                        .iter()
                        .filter(|it| it.key.tenant_id == TENANT)
                        .filter(|it| scope.is_none_or(|scope| it.key.scope == scope))
                        .filter(|it| scope_id.is_none_or(|id| it.key.scope_id == id))
                        .filter(|it| tool.is_none_or(|tool| it.key.tool_name == tool))
                        .filter(|it| {
                            status
                                .is_none_or(|status| it.health.as_ref().is_some_and(|it| it.status == status))
                        })
                        .map(|it| it.key.clone())
                        .collect();
                    for limit in [1, 3, 1_000] {
                        let found = list(&*store, &filter, limit).await;
                        assert_eq!(keys(&found), expected, "{filter:?}, {limit} a page");
                    }
                }
            }
        }
    }
}

/// R39: the status that is listed is the one on record now, not one before.
pub async fn a_status_filter_follows_the_document(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let key = tool("t");
    let down = DocumentFilter {
        tenant_id: TENANT.to_owned(),
        status: Some(Status::Down),
        ..DocumentFilter::default()
    };
    let version = put(&*store, None, document(&key)).await;
    assert!(list(&*store, &down, 10).await.is_empty());
    let version = put(&*store, Some(version), with_status(&key, Status::Down)).await;
    let found = list(&*store, &down, 10).await;
    assert_eq!(found.len(), 1);
    assert_eq!((&found[0].document, found[0].version), (&with_status(&key, Status::Down), version));
    put(&*store, Some(version), with_status(&key, Status::Ok)).await;
    assert!(list(&*store, &down, 10).await.is_empty());
}

/// A page's `next` is its last key exactly if there is more; a page after the last key, or after a key that is gone, goes on
/// behind its place.
pub async fn a_page_goes_on_behind_its_place(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    for n in 0..6 {
        put(&*store, None, document(&tool(&format!("t{n}")))).await;
    }
    let filter = DocumentFilter { tenant_id: TENANT.to_owned(), ..DocumentFilter::default() };
    let page = store.list_documents(&filter, None, 6).await.expect("a page");
    assert_eq!((page.documents.len(), page.next), (6, None), "all of it is no more than all of it");
    let page = store.list_documents(&filter, None, 3).await.expect("a page");
    assert_eq!(page.next, Some(tool("t2")));
    store.delete(&DeleteSelector::One(tool("t2")), at(1)).await.expect("the delete");
    let page = store.list_documents(&filter, page.next.as_ref(), 3).await.expect("a page");
    assert_eq!(keys(&page.documents), [tool("t3"), tool("t4"), tool("t5")]);
    assert_eq!(page.next, None);
    let page = store.list_documents(&filter, Some(&tool("t9")), 3).await.expect("a page");
    assert_eq!((page.documents.len(), page.next), (0, None));
}

/// A page holds at least one document and at most 1,000, whatever limit is asked for.
pub async fn a_page_holds_one_to_a_thousand(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    for hundred in 0..11 {
        let writes =
            (0..100).map(|n| write(None, document(&tool(&format!("t{hundred:02}{n:02}"))))).collect();
        store.commit(&documents(writes)).await.expect("the commit");
    }
    let filter = DocumentFilter { tenant_id: TENANT.to_owned(), ..DocumentFilter::default() };
    for (limit, expected) in [(0, 1), (1, 1), (1_000, 1_000), (usize::MAX, 1_000)] {
        let page = store.list_documents(&filter, None, limit).await.expect("a page");
        assert_eq!(page.documents.len(), expected, "limit {limit}");
        assert!(page.next.is_some());
    }
}

/// Pages are constant and complete: documents that stay are listed exactly once, in order, while others come, go and change
/// between the pages.
pub async fn pages_are_complete_while_others_write(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let stay: Vec<DocumentKey> = (0..60).map(|n| tool(&format!("stay{n:02}"))).collect();
    for key in &stay {
        put(&*store, None, document(key)).await;
    }
    let is_over = Arc::new(AtomicBool::new(false));
    let writer = tokio::spawn({
        let (store, stay, is_over) = (Arc::clone(&store), stay.clone(), Arc::clone(&is_over));
        async move {
            let mut n = 0;
            while !is_over.load(Ordering::Relaxed) {
                n += 1;
                let passing = tool(&format!("stay{:02}-passing", (n * 7) % 60));
                update(&*store, &passing, |_| {}).await;
                update(&*store, &stay[(n * 11) % 60], |it| it.last_checked_at = Some(at(5))).await;
                store.delete(&DeleteSelector::One(passing), at(1)).await.expect("the delete");
                tokio::task::yield_now().await;
            }
        }
    });
    let filter = DocumentFilter { tenant_id: TENANT.to_owned(), ..DocumentFilter::default() };
    for _ in 0..30 {
        let found = keys(&list(&*store, &filter, 7).await);
        assert!(found.is_sorted());
        assert_eq!(found.iter().collect::<BTreeSet<_>>().len(), found.len(), "no document comes twice");
        let found: Vec<_> = found.into_iter().filter(|it| !it.tool_name.ends_with("-passing")).collect();
        assert_eq!(found, stay);
        tokio::task::yield_now().await;
    }
    is_over.store(true, Ordering::Relaxed);
    writer.await.expect("the writer ends");
}
