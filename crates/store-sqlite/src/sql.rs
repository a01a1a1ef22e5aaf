//! Every statement that runs once the schema is in place. Nothing is put together at run time.
//!
//! The test of this module plans each one against a migrated database, and refuses a scan where an index must serve.

/// Makes a constant of each statement, and for the test a list of all.
macro_rules! statements {
    ($($name:ident = $sql:expr;)*) => {
        $(pub(crate) const $name: &str = $sql;)*

        #[cfg(test)]
        const ALL: &[(&str, &str)] = &[$((stringify!($name), $name)),*];
    };
}

/// What `rows::document` reads, from `documents as d`.
macro_rules! document_columns {
    () => {
        "d.tenant_id, d.scope, d.scope_id, d.tool_name, d.version, d.format, d.body"
    };
}

/// What `rows::job` reads.
macro_rules! job_columns {
    () => {
        "id, service_type, tenant_id, project_id, key_tenant_id, scope, scope_id, tool_name, signature, key_user, cause, \
         signals, signal_count, state, lease_token, lease_until, created_at, ended_at, reason"
    };
}

/// One document.
macro_rules! by_key {
    () => {
        "tenant_id = ?1 and scope = ?2 and scope_id = ?3 and tool_name = ?4"
    };
}

/// One container.
macro_rules! by_container {
    () => {
        "tenant_id = ?1 and scope = ?2 and scope_id = ?3"
    };
}

/// One tenant.
macro_rules! by_tenant {
    () => {
        "tenant_id = ?1"
    };
}

/// A list over an index: what `$first` asks for beside the tenant ?1, behind the place (?2, ?3, ?4), not beyond the scope ?5,
/// with the scope id ?6, the tool ?7 and the status ?8 where they are given. The planner knows nothing of how many rows match,
/// so the index is named.
macro_rules! list {
    ($index:literal, $first:literal) => {
        concat!(
            "select ",
            document_columns!(),
            " from documents as d indexed by ",
            $index,
            " where d.tenant_id = ?1 and ",
            $first,
            " and (d.scope, d.scope_id, d.tool_name) > (?2, ?3, ?4) and d.scope <= ?5
              and (?6 is null or d.scope_id = ?6) and (?7 is null or d.tool_name = ?7)
              and (?8 is null or d.status = ?8)
              order by d.scope, d.scope_id, d.tool_name limit ?9"
        )
    };
}

/// Tombstones at position ?5, deleted at ?6, of the documents that `$which` names.
macro_rules! bury {
    ($which:expr) => {
        concat!(
            "insert or replace into tombstones (tenant_id, scope, scope_id, tool_name, version, revision, deleted_at)
             select tenant_id, scope, scope_id, tool_name, ?5, ?5, ?6 from documents where ",
            $which
        )
    };
}

/// Ends open outages at ?6: nobody saw their end.
macro_rules! censor {
    ($which:expr) => {
        concat!("update outages set ended_at = ?6, censored = 1 where ended_at is null and ", $which)
    };
}

/// Up to 500 sessions that were last written before ?1, the oldest first.
macro_rules! old_sessions {
    ($columns:literal) => {
        concat!(
            "(select ",
            $columns,
            " from documents where scope = 1 and updated_at < ?1 order by updated_at, id limit 500)"
        )
    };
}

statements! {
    // Identity, and the place in the feed.
    WRITE_NOTHING = "update agrajag_schema set version = version where id = 0";
    LOAD_META = "select epoch, position, floor from meta";
    LOAD_SCHEMA = "select version, min_reader from agrajag_schema";
    ADVANCE = "update meta set position = position + 1 returning epoch, position";
    DATA_VERSION = "pragma data_version";

    // Documents. The containers come as a JSON array of [tenant, scope, scope id]: one statement for any number.
    LOAD_CONTAINERS = concat!(
        "select ",
        document_columns!(),
        " from json_each(?1) as k cross join documents as d
          on d.tenant_id = k.value ->> 0 and d.scope = k.value ->> 1 and d.scope_id = k.value ->> 2"
    );
    LOAD_DOCUMENT = concat!("select ", document_columns!(), " from documents as d where ", by_key!());
    INSERT_DOCUMENT = "insert into documents (tenant_id, scope, scope_id, tool_name, version, revision, status,
        next_cooldown_at, updated_at, format, body) values (?1, ?2, ?3, ?4, ?5, ?5, ?6, ?7, ?8, ?9, ?10)
        on conflict (tenant_id, scope, scope_id, tool_name) do nothing";
    UPDATE_DOCUMENT = concat!(
        "update documents set version = ?5, revision = ?5, status = ?6, next_cooldown_at = ?7, updated_at = ?8,
         format = ?9, body = ?10 where version = ?11 and ",
        by_key!()
    );
    DELETE_TOMBSTONE = concat!("delete from tombstones where ", by_key!());

    // Lists: of a tenant, of one container, by status, of one tool.
    LIST = list!("documents_by_key", "true");
    LIST_CONTAINER = list!("documents_by_key", "d.scope = ?5 and d.scope_id = ?6");
    LIST_CONTAINER_STATUS = list!("documents_by_status", "d.scope = ?5 and d.scope_id = ?6 and d.status = ?8");
    LIST_STATUS = list!("documents_by_status", "d.status = ?8");
    LIST_TOOL = list!("documents_by_tool", "d.tool_name = ?7");

    // Deletes.
    BURY_ONE = bury!(by_key!());
    BURY_CONTAINER = bury!(by_container!());
    BURY_TENANT = bury!(by_tenant!());
    CENSOR_ONE = censor!(by_key!());
    DELETE_ONE = concat!("delete from documents where ", by_key!());
    DELETE_CONTAINER = concat!("delete from documents where ", by_container!());
    DELETE_TENANT = concat!("delete from documents where ", by_tenant!());
    DELETE_CONTAINER_OUTAGES = concat!("delete from outages where ", by_container!());
    DELETE_TENANT_OUTAGES = concat!("delete from outages where ", by_tenant!());
    DELETE_ONE_JOBS = "delete from jobs where key_tenant_id = ?1 and scope = ?2 and scope_id = ?3 and tool_name = ?4";
    DELETE_CONTAINER_JOBS = "delete from jobs where key_tenant_id = ?1 and scope = ?2 and scope_id = ?3";
    DELETE_TENANT_JOBS = "delete from jobs where tenant_id = ?1 or key_tenant_id = ?1";
    DELETE_USER_JOBS = "delete from jobs where tenant_id = ?1 and key_user = ?2";
    LIST_SIGNALS = "select id, signals from jobs where tenant_id = ?1";
    REPLACE_SIGNALS = "update jobs set signals = ?2 where id = ?1";
    DELETE_TENANT_RULES = concat!("delete from rule_layers where ", by_tenant!());
    DELETE_TENANT_FAILURES = concat!("delete from failures where ", by_tenant!());
    DELETE_USER_COUNTERS = "delete from counters where user_id = ?2
        and document_id in (select id from documents where tenant_id = ?1)";

    // The sweep.
    BURY_SESSIONS = concat!(
        "insert or replace into tombstones (tenant_id, scope, scope_id, tool_name, version, revision, deleted_at)
         select tenant_id, scope, scope_id, tool_name, ?2, ?2, ?3 from documents where id in ",
        old_sessions!("id")
    );
    CENSOR_SESSIONS = concat!(
        "update outages set ended_at = ?2, censored = 1
         where ended_at is null and (tenant_id, scope, scope_id, tool_name) in ",
        old_sessions!("tenant_id, scope, scope_id, tool_name")
    );
    DELETE_SESSION_JOBS = concat!(
        "delete from jobs where (key_tenant_id, scope, scope_id, tool_name) in ",
        old_sessions!("tenant_id, scope, scope_id, tool_name")
    );
    DELETE_SESSIONS = concat!("delete from documents where id in ", old_sessions!("id"));
    RAISE_FLOOR = "update meta set floor = max(floor,
        coalesce((select max(revision) from tombstones where deleted_at < ?1), 0))";
    DELETE_TOMBSTONES = "delete from tombstones where deleted_at < ?1";
    DELETE_ENDED_JOBS = "delete from jobs where ended_at < ?1";
    LIST_COUNTED = concat!(
        "select ",
        document_columns!(),
        ", d.id from documents as d
         where d.id in (select document_id from counters where document_id > ?1 order by document_id limit 500)
         order by d.id"
    );
    LIST_COUNTER_KEYS = "select id, signature, user_id, episode from counters where document_id = ?1";
    DELETE_COUNTER = "delete from counters where id = ?1 and document_id = ?2
        and exists (select 1 from documents where id = ?2 and version = ?3)";
    DELETE_EXCESS_OUTAGES = "delete from outages where id in (select id from (select id, row_number() over
        (partition by tenant_id, scope, scope_id, tool_name order by started_at desc, id desc) as n from outages)
        where n > ?1)";
    DELETE_ORPHANED_OUTAGES = "delete from outages where ended_at < ?1 and not exists (select 1 from documents as d
        where d.tenant_id = outages.tenant_id and d.scope = outages.scope and d.scope_id = outages.scope_id
        and d.tool_name = outages.tool_name)";

    // The feed.
    CHANGES_END = "select revision from (select revision from documents where revision > ?1
        union all select revision from tombstones where revision > ?1) order by revision limit 1 offset ?2";
    CHANGED_DOCUMENTS = concat!(
        "select ",
        document_columns!(),
        ", d.revision from documents as d where d.revision > ?1 and d.revision <= ?2 order by d.revision"
    );
    CHANGED_TOMBSTONES = "select tenant_id, scope, scope_id, tool_name, version, revision from tombstones
        where revision > ?1 and revision <= ?2 order by revision";

    // Counters. A sum stops at the greatest number.
    ADD_HITS = concat!(
        "insert into counters (document_id, signature, user_id, episode, hits, last_triggered_at)
         select id, ?5, ?6, ?7, ?8, ?9 from documents where ",
        by_key!(),
        " on conflict (document_id, signature, user_id is null, coalesce(user_id, ''), episode) do update set
          hits = case when hits > 9223372036854775807 - excluded.hits then 9223372036854775807
                 else hits + excluded.hits end,
          last_triggered_at = max(last_triggered_at, excluded.last_triggered_at)"
    );
    LOAD_COUNTERS = concat!(
        "select signature, user_id, episode, hits, last_triggered_at from counters
         where document_id = (select id from documents where ",
        by_key!(),
        ") order by signature, user_id, episode"
    );

    // Outages.
    OPEN_OUTAGE = "insert into outages (tenant_id, scope, scope_id, tool_name, signature, started_at, censored)
        values (?1, ?2, ?3, ?4, ?5, ?6, 0)
        on conflict (tenant_id, scope, scope_id, tool_name) where ended_at is null do nothing";
    CLOSE_OUTAGE = concat!("update outages set ended_at = ?5 where ended_at is null and ", by_key!());
    LIST_OUTAGES = concat!(
        "select signature, started_at, ended_at, censored from outages where ",
        by_key!(),
        " order by started_at desc, id desc limit ?5"
    );

    // Jobs.
    LOAD_OPEN_JOB = "select id, signals from jobs where key_tenant_id = ?1 and scope = ?2 and scope_id = ?3
        and tool_name = ?4 and service_type = ?5 and signature = ?6 and key_user is ?7
        and state in ('QUEUED', 'RUNNING')";
    INSERT_JOB = "insert into jobs (id, service_type, tenant_id, project_id, key_tenant_id, scope, scope_id, tool_name,
        signature, key_user, cause, signals, signal_count, state, lease_token, created_at)
        values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, 1, 'QUEUED', 0, ?13)";
    MERGE_JOB = "update jobs set signals = ?2, signal_count = signal_count + 1,
        cause = case when ?3 = 'user_request' then ?3 else cause end where id = ?1";
    DROP_EXCESS_JOBS = "update jobs set state = 'STALE', reason = ?4, ended_at = ?5 where id in (select id from jobs
        where state = 'QUEUED' and tenant_id = ?1 and project_id = ?2 and cause = 'tool_call_error' and id <> ?3
        order by created_at, id limit max(0, (select count(*) from jobs
            where state = 'QUEUED' and tenant_id = ?1 and project_id = ?2) - ?6))";
    REQUEUE_JOBS = "update jobs set state = 'QUEUED', lease_until = null, lease_token = lease_token + 1
        where state = 'RUNNING' and lease_until < ?1";
    NEXT_JOB = "select q.id from jobs as q where q.state = 'QUEUED' and not exists (select 1 from jobs as r
        where r.state = 'RUNNING' and r.tenant_id = q.tenant_id and r.project_id = q.project_id)
        order by q.cause <> 'user_request', q.created_at, q.id limit 1";
    CLAIM_JOB = concat!(
        "update jobs set state = 'RUNNING', lease_token = lease_token + 1, lease_until = ?2 where id = ?1 returning ",
        job_columns!()
    );
    GIVE_UP_JOB = "update jobs set state = 'STALE', reason = ?2, ended_at = ?3, lease_until = null where id = ?1";
    EXTEND_JOB = "update jobs set lease_until = ?3 where id = ?1 and lease_token = ?2 and state = 'RUNNING'";
    COMPLETE_JOB = "update jobs set state = ?3, reason = ?4, ended_at = ?5, lease_until = null
        where id = ?1 and lease_token = ?2 and state = 'RUNNING'";
    LIST_JOBS = concat!(
        "select ",
        job_columns!(),
        " from jobs where tenant_id = ?1 and (?2 is null or project_id = ?2) and (?3 is null or state = ?3)
          and (?4 is null or scope = ?4) and (?5 is null or tool_name = ?5)
          order by created_at desc, id desc limit ?6"
    );
    LIST_JOBS_AFTER = concat!(
        "select ",
        job_columns!(),
        " from jobs where tenant_id = ?1 and (?2 is null or project_id = ?2) and (?3 is null or state = ?3)
          and (?4 is null or scope = ?4) and (?5 is null or tool_name = ?5)
          and (created_at, id) < (select created_at, id from jobs where id = ?7)
          order by created_at desc, id desc limit ?6"
    );
    COUNT_QUEUED = "select count(*) from jobs where state = 'QUEUED'";

    // Rule layers.
    RULES_REVISION = "select rules_revision from meta";
    ADVANCE_RULES = "update meta set rules_revision = rules_revision + 1 returning rules_revision";
    LIST_RULE_LAYERS = "select tenant_id, project_id, body, updated_at, updated_by, version from rule_layers
        order by tenant_id, project_id is not null, project_id";
    RULE_LAYER_VERSION = "select version from rule_layers where tenant_id = ?1 and (project_id is null) = (?2 is null)
        and coalesce(project_id, '') = coalesce(?2, '')";
    PUT_RULE_LAYER = "insert into rule_layers (tenant_id, project_id, body, updated_at, updated_by, version)
        values (?1, ?2, ?3, ?4, ?5, ?6)
        on conflict (tenant_id, project_id is null, coalesce(project_id, '')) do update set body = excluded.body,
        updated_at = excluded.updated_at, updated_by = excluded.updated_by, version = excluded.version";
    DELETE_RULE_LAYER = "delete from rule_layers where tenant_id = ?1 and (project_id is null) = (?2 is null)
        and coalesce(project_id, '') = coalesce(?2, '')";

    // The journal of failures. No instant is the greatest number, so that a page behind nothing begins with the latest.
    APPEND_FAILURE = "insert into failures (id, tenant_id, project_id, at, content) values (?1, ?2, ?3, ?4, ?5)
        on conflict (id) do nothing";
    TRIM_FAILURES = "delete from failures where tenant_id = ?1 and (at, id) <= (select at, id from failures
        where tenant_id = ?1 order by at desc, id desc limit 1 offset ?2)";
    LIST_FAILURES = "select id, tenant_id, project_id, at, content from failures
        where tenant_id = ?1 and (at, id) < (?2, ?3) order by at desc, id desc limit ?4";
    LIST_FAILURES_OF_PROJECT = "select id, tenant_id, project_id, at, content from failures
        where tenant_id = ?1 and (at, id) < (?2, ?3) and project_id = ?5 order by at desc, id desc limit ?4";
}

#[cfg(test)]
mod tests;
