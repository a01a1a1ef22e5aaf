//! Each statement is planned against a migrated database: it must be right as SQL, and must find its rows by an index.

use sqlx::sqlite::SqliteConnection;
use sqlx::{AssertSqlSafe, Row};

use super::ALL;
use crate::{SqliteOptions, SqliteStore};

/// Statements that may read a whole table, with the reason.
const MAY_SCAN: &[(&str, &str)] = &[
    ("DELETE_EXCESS_OUTAGES", "a sweep: it ranks all outages, over their index"),
    ("DELETE_ORPHANED_OUTAGES", "a sweep: it asks of every outage whether its document is there"),
    ("LIST_RULE_LAYERS", "it lists the whole table, a few rows"),
    ("REQUEUE_JOBS", "over an index of the running jobs alone, at most one a project"),
    ("NEXT_JOB", "over an index of the queued jobs alone, in the order of claims, until one may run"),
    ("COUNT_QUEUED", "over an index of the queued jobs alone"),
];

/// The steps of a statement's plan.
async fn plan(connection: &mut SqliteConnection, sql: &str) -> Vec<String> {
    let rows = sqlx::query(AssertSqlSafe(format!("explain query plan {sql}")))
        .fetch_all(connection)
        .await
        .unwrap_or_else(|error| panic!("{error} in: {sql}"));
    rows.iter().map(|row| row.get::<String, _>("detail")).collect()
}

#[tokio::test]
async fn every_statement_finds_its_rows_by_an_index() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("store.db");
    let store = SqliteStore::open(&path, SqliteOptions::default()).await.expect("the store opens");
    let mut connection = store.writer.acquire().await.expect("a connection");
    let mut wrong = Vec::new();
    for (name, sql) in ALL {
        let steps = plan(&mut connection, sql).await;
        let scans: Vec<_> = steps
            .iter()
            .filter(|it| it.starts_with("SCAN") && !it.starts_with("SCAN k ") && !it.starts_with("SCAN meta"))
            .filter(|it| !it.starts_with("SCAN agrajag_schema") && !it.starts_with("SCAN (subquery"))
            .collect();
        let may_scan = MAY_SCAN.iter().any(|(it, _)| it == name);
        if !scans.is_empty() && !may_scan {
            wrong.push((name, steps));
        }
    }
    assert!(wrong.is_empty(), "these scan: {wrong:#?}");
    for (name, _) in MAY_SCAN {
        assert!(ALL.iter().any(|(it, _)| it == name), "there is no `{name}`");
    }
}

/// The statements of every report, claim and page need no sort of their own either, however many rows there are.
///
/// R38, R39, R40: the index that each is to use.
#[tokio::test]
async fn hot_statements_use_the_index_that_is_made_for_them() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("store.db");
    let store = SqliteStore::open(&path, SqliteOptions::default()).await.expect("the store opens");
    let mut connection = store.writer.acquire().await.expect("a connection");
    let mut wrong = Vec::new();
    for (name, index) in [
        ("LOAD_CONTAINERS", "documents_by_key (tenant_id=? AND scope=? AND scope_id=?)"),
        ("LOAD_DOCUMENT", "documents_by_key (tenant_id=? AND scope=? AND scope_id=? AND tool_name=?)"),
        ("UPDATE_DOCUMENT", "documents_by_key (tenant_id=? AND scope=? AND scope_id=? AND tool_name=?)"),
        ("LIST", "documents_by_key (tenant_id=? AND (scope,scope_id,tool_name)>(?,?,?) AND scope<?)"),
        ("LIST_CONTAINER_STATUS", "documents_by_status (tenant_id=? AND status=? AND scope=? AND scope_id=?"),
        ("LIST_STATUS", "documents_by_status (tenant_id=? AND status=?"),
        (
            "LIST_TOOL",
            "documents_by_tool (tenant_id=? AND tool_name=? AND (scope,scope_id)>(?,?) AND scope<?)",
        ),
        ("CHANGED_DOCUMENTS", "documents_by_revision (revision>? AND revision<?)"),
        ("CHANGES_END", "documents_by_revision (revision>?)"),
        ("LOAD_OPEN_JOB", "jobs_open (service_type=? AND key_tenant_id=?"),
        ("NEXT_JOB", "jobs_queued"),
        ("REQUEUE_JOBS", "jobs_running"),
        ("DROP_EXCESS_JOBS", "jobs_by_queue (tenant_id=? AND project_id=?)"),
        ("DELETE_ONE_JOBS", "jobs_by_document (key_tenant_id=? AND scope=? AND scope_id=? AND tool_name=?)"),
        ("DELETE_ENDED_JOBS", "jobs_by_end (ended_at<?)"),
        ("LIST_JOBS_AFTER", "jobs_by_tenant (tenant_id=? AND created_at<?)"),
        ("CLOSE_OUTAGE", "outages_open (tenant_id=? AND scope=? AND scope_id=? AND tool_name=?)"),
        ("LIST_OUTAGES", "outages_by_document (tenant_id=? AND scope=? AND scope_id=? AND tool_name=?)"),
        ("LOAD_COUNTERS", "counters_by_key (document_id=?)"),
        ("TRIM_FAILURES", "failures_by_place (tenant_id=? AND at<?)"),
        ("LIST_FAILURES", "failures_by_place (tenant_id=? AND (at,id)<(?,?))"),
        ("LIST_FAILURES_OF_PROJECT", "failures_by_project (tenant_id=? AND project_id=? AND (at,id)<(?,?))"),
    ] {
        let (_, sql) = ALL.iter().find(|(it, _)| *it == name).expect("a statement of that name");
        let steps = plan(&mut connection, sql).await;
        let may_sort = name == "LOAD_COUNTERS";
        let sorts = steps.iter().any(|it| it.contains("B-TREE"));
        if !steps.iter().any(|it| it.contains(index)) || (sorts && !may_sort) {
            wrong.push((name, steps));
        }
    }
    assert!(wrong.is_empty(), "these use another index, or sort: {wrong:#?}");
}
