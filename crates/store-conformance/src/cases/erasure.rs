//! What deletes take beside documents: jobs with their signals, outages, and the traces of a user (DESIGN §4).

use std::collections::BTreeSet;

use health_model::DocumentKey;
use health_model::vocabulary::Scope;
use ports::{Batch, DeleteSelector, Enqueue, Job, JobFilter, JobState, Signal, Store};
use uuid::Uuid;

use crate::Fixture;
use crate::values::*;

/// Jobs about each key, in the queue of a project of their own: one that is done, one that is given up, one that runs, one
/// that is queued. Their numbers start at 10 for each key.
async fn populate(store: &dyn Store, keys: &[DocumentKey]) {
    for (n, key) in (1..).zip(keys) {
        for m in 0..4 {
            let mut it = job(n * 10 + m, &format!("p{n}"), "t");
            it.tenant_id.clone_from(&key.tenant_id);
            it.key = key.clone();
            it.signature = format!("s{m}");
            enqueue(store, &it).await;
        }
    }
    for (m, reason) in [(0, None), (1, Some("given up"))] {
        for n in 1..=keys.len() as u64 {
            let claim = store.claim_job(at(1_000), at(5_000)).await.expect("a claim").expect("a job");
            assert_eq!(claim.job.id, id(n * 10 + m), "every queue in turn");
        }
        for job in all_jobs(store).await.into_iter().filter(|it| it.state == JobState::Running) {
            let is_ended = store.complete_job(job.id, job.lease_token, reason, at(1_001)).await;
            assert!(is_ended.expect("an answer"));
        }
    }
    for _ in keys {
        store.claim_job(at(1_000), at(5_000)).await.expect("a claim").expect("a job");
    }
}

async fn all_jobs(store: &dyn Store) -> Vec<Job> {
    let mut all = Vec::new();
    for tenant in ["", "acme", "bolt"] {
        let filter = JobFilter { tenant_id: tenant.to_owned(), ..JobFilter::default() };
        all.extend(store.list_jobs(&filter, None, 1_000).await.expect("the jobs"));
    }
    all
}

async fn ids(store: &dyn Store) -> BTreeSet<Uuid> {
    all_jobs(store).await.into_iter().map(|it| it.id).collect()
}

/// The numbers of [`populate`] of these keys.
fn of_keys(keys: impl IntoIterator<Item = u64>) -> BTreeSet<Uuid> {
    keys.into_iter().flat_map(|n| (0..4).map(move |m| id(n * 10 + m))).collect()
}

async fn delete(store: &dyn Store, selector: DeleteSelector) {
    store.delete(&selector, at(2_000)).await.expect("the delete");
}

/// The jobs about a document go with it, whether or not it is there; its neighbours' stay. A run of one ends without effect,
/// and its coalescing key is free.
pub async fn jobs_go_with_their_document(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let keys = [
        key("acme", Scope::Project, "p", "t"),
        key("acme", Scope::Project, "p", "u"),
        key("acme", Scope::Project, "q", "t"),
        key("acme", Scope::User, "p", "t"),
        key("bolt", Scope::Project, "p", "t"),
    ];
    populate(&*store, &keys).await;
    put(&*store, None, document(&keys[0])).await;
    let running = load_job(&*store, id(12)).await;
    assert_eq!(running.state, JobState::Running);
    delete(&*store, DeleteSelector::One(keys[0].clone())).await;
    assert_eq!(ids(&*store).await, of_keys(2..=5));
    assert!(!store.complete_job(running.id, running.lease_token, None, at(3_000)).await.expect("an answer"));
    let again = Enqueue { id: id(99), key: keys[0].clone(), signature: "s2".to_owned(), ..job(1, "p1", "t") };
    assert_eq!(enqueue(&*store, &again).await, ports::EnqueueOutcome::Created(id(99)));
    assert!(store.claim_job(at(3_000), at(5_000)).await.expect("a claim").is_some(), "its queue is free");
    delete(&*store, DeleteSelector::One(keys[1].clone())).await;
    assert_eq!(ids(&*store).await, &of_keys(3..=5) | &BTreeSet::from([id(99)]), "without a document too");
}

/// The jobs about a user's or session's documents go with it, in whichever queue they are.
pub async fn jobs_go_with_a_user_or_session(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let keys = [
        key("acme", Scope::User, "ann", "t"),
        key("acme", Scope::User, "ann", "u"),
        key("acme", Scope::Session, "ann", "t"),
        key("acme", Scope::User, "bob", "t"),
        key("acme", Scope::Project, "ann", "t"),
        key("bolt", Scope::User, "ann", "t"),
        key("bolt", Scope::Session, "ann", "t"),
    ];
    populate(&*store, &keys).await;
    delete(&*store, DeleteSelector::User { tenant_id: "acme".to_owned(), user_id: "ann".to_owned() }).await;
    assert_eq!(ids(&*store).await, of_keys(3..=7));
    let session = DeleteSelector::Session { tenant_id: "acme".to_owned(), session_id: "ann".to_owned() };
    delete(&*store, session).await;
    assert_eq!(ids(&*store).await, of_keys(4..=7));
}

/// A tenant's jobs go, those in another's queue about its documents too.
pub async fn jobs_go_with_the_tenant_of_their_document(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    for (n, queue, about) in
        [(1, "acme", "acme"), (2, "acme", "bolt"), (3, "bolt", "acme"), (4, "bolt", "bolt"), (5, "acme", "")]
    {
        let mut it = job(n, "essay", "t");
        it.tenant_id = queue.to_owned();
        it.key.tenant_id = about.to_owned();
        it.signature = format!("s{n}");
        enqueue(&*store, &it).await;
    }
    delete(&*store, DeleteSelector::Tenant { tenant_id: "acme".to_owned() }).await;
    assert_eq!(ids(&*store).await, BTreeSet::from([id(4)]));
}

/// A user is taken out of the tenant's other jobs: of a signal of the user's only the time is left, the job and its count
/// stay. Jobs that are the user's alone go. Other users and other tenants keep everything.
pub async fn a_user_is_forgotten_in_the_jobs_of_others(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let odd = "an\"n\\ \u{e9}_%'";
    let call = |n: u64, user: Option<&str>| Enqueue {
        signal: Signal { user_id: user.map(str::to_owned), ..signal(&format!("of {user:?}"), at(1)) },
        ..job(n, "essay", "t")
    };
    for (n, user) in [(1, Some(odd)), (2, None), (3, Some("bob")), (4, Some(odd)), (5, Some(""))] {
        enqueue(&*store, &call(n, user)).await;
    }
    let mut alone = call(10, Some(odd));
    alone.key_user = Some(odd.to_owned());
    enqueue(&*store, &alone).await;
    let mut bobs = call(11, Some("bob"));
    bobs.key_user = Some("bob".to_owned());
    enqueue(&*store, &bobs).await;
    let mut ended = call(12, Some(odd));
    ended.project_id = "other".to_owned();
    ended.signature = "s12".to_owned();
    enqueue(&*store, &ended).await;
    let mut foreign = call(20, Some(odd));
    foreign.tenant_id = "bolt".to_owned();
    foreign.key.tenant_id = "bolt".to_owned();
    foreign.key_user = Some(odd.to_owned());
    enqueue(&*store, &foreign).await;
    for _ in 0..3 {
        let claim = store.claim_job(at(50), at(90)).await.expect("a claim").expect("a job");
        if claim.job.id == id(12) {
            store.complete_job(id(12), claim.token, None, at(51)).await.expect("an answer");
        }
    }
    let before = all_jobs(&*store).await;
    assert_eq!(load_job(&*store, id(12)).await.state, JobState::Done);

    let selector = DeleteSelector::User { tenant_id: "acme".to_owned(), user_id: odd.to_owned() };
    let (n, _) = store.delete(&selector, at(2_000)).await.expect("the delete");
    assert_eq!(n, 0, "no document was deleted");
    let expected: Vec<Job> = before
        .into_iter()
        .filter(|it| it.id != id(10))
        .map(|mut job| {
            for it in &mut job.signals {
                if job.tenant_id == "acme" && it.user_id.as_deref() == Some(odd) {
                    *it = Signal { at: it.at, user_id: None, session_id: None, detail: String::new() };
                }
            }
            job
        })
        .collect();
    assert_eq!(all_jobs(&*store).await, expected);
    let shared = load_job(&*store, id(1)).await;
    let kept: Vec<_> = shared.signals.iter().map(|it| it.detail.as_str()).collect();
    assert_eq!(kept, ["", "of None", "of Some(\"bob\")", "", "of Some(\"\")"]);
    assert_eq!(shared.signal_count, 5);
}

/// The outages of a user's or session's documents go with it, ended and open, whether or not their document is still there.
/// A single document's stay.
pub async fn outages_go_with_a_user_or_session(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let scopes = [Scope::User, Scope::Session];
    let mut keys = Vec::new();
    for tenant in ["acme", "bolt"] {
        for scope in scopes {
            for scope_id in ["ann", "bob"] {
                keys.extend(["t", "u"].map(|it| key(tenant, scope, scope_id, it)));
            }
        }
    }
    for key in &keys {
        let changes = vec![open_outage(key, at(1)), close_outage(key, at(2)), open_outage(key, at(3))];
        let batch =
            Batch { documents: vec![write(None, document(key))], outages: changes, ..Batch::default() };
        store.commit(&batch).await.expect("the commit");
    }
    let n_outages = async |key: &DocumentKey| store.list_outages(key, 10).await.expect("the outages").len();
    for scope in scopes {
        let one = key("acme", scope, "ann", "t");
        delete(&*store, DeleteSelector::One(one.clone())).await;
        assert_eq!(n_outages(&one).await, 2, "one document's stay");
    }
    let (tenant_id, ann) = ("acme".to_owned(), "ann".to_owned());
    for (selector, gone) in [
        (DeleteSelector::User { tenant_id: tenant_id.clone(), user_id: ann.clone() }, &scopes[..1]),
        (DeleteSelector::Session { tenant_id, session_id: ann }, &scopes[..]),
    ] {
        delete(&*store, selector).await;
        for key in &keys {
            let is_gone = key.tenant_id == "acme" && key.scope_id == "ann" && gone.contains(&key.scope);
            assert_eq!(n_outages(key).await, if is_gone { 0 } else { 2 }, "{key}");
        }
    }
}
