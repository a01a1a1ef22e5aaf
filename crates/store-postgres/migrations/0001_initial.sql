-- Schema 1.
--
-- Runs once, inside one transaction, with `search_path` set to the schema of the store. Text is compared byte by byte
-- (collation "C"), so that the database orders keys as the program does and no change of the operating system's
-- collations can damage an index. Instants are microseconds since 1970-01-01 UTC; the database's clock is never read.

-- Declared from narrow to wide: the order of listings.
create type document_scope as enum ('SESSION', 'USER', 'PROJECT', 'TENANT', 'GLOBAL');

-- One row: the identity of the store, and two numbers that all servers share.
create table store (
    singleton      boolean primary key default true check (singleton),
    -- The identity that revisions carry. Replaced when `home` turns out to be another.
    epoch          uuid   not null default gen_random_uuid(),
    -- Cluster, database and timeline that the positions in `document.revision` are transaction ids of.
    home           text   collate "C",
    -- Tombstones up to this revision may have been swept.
    feed_floor     bigint not null default 0,
    -- Grows with each put and delete of a rule layer.
    rules_revision bigint not null default 0
);
insert into store default values;

-- One row a key (R32, R38). A row without a body is the tombstone of a deleted document.
create table document (
    tenant_id        text           collate "C" not null,
    scope            document_scope not null,
    scope_id         text           collate "C" not null,
    tool_name        text           collate "C" not null,
    -- The transaction id of the last write: the document's version, and the place of the write in the change feed.
    revision         bigint         not null,
    -- What the writer expected to find: 0 = no document; negated on a row's first write.
    replaced         bigint         not null,
    -- The format of `body`.
    format           integer        not null,
    body             jsonb,
    -- Copies out of `body` for the indexes.
    status           text           collate "C",
    next_cooldown_at bigint,
    updated_at       bigint         not null,
    deleted_at       bigint,
    constraint document_key primary key (tenant_id, scope, scope_id, tool_name),
    check ((body is null) = (deleted_at is not null))
);
-- R39
create index document_by_status on document (tenant_id, scope, scope_id, status, tool_name) where body is not null;
-- R40
create index document_by_tool on document (tenant_id, tool_name, status, scope, scope_id) where body is not null;
-- R41
create index document_by_cooldown on document (next_cooldown_at) where next_cooldown_at is not null;
create index document_by_revision on document (revision);
create index document_session_age on document (updated_at) where scope = 'SESSION' and body is not null;
create index document_tombstone_age on document (deleted_at) where deleted_at is not null;

-- Hits of cooldowns. They change with every failure and so have no version and no place in the feed.
create table counter (
    tenant_id         text           collate "C" not null,
    scope             document_scope not null,
    scope_id          text           collate "C" not null,
    tool_name         text           collate "C" not null,
    signature         text           collate "C" not null,
    user_id           text           collate "C",
    episode           bigint         not null,
    hits              bigint         not null check (hits >= 0),
    last_triggered_at bigint         not null
);
create unique index counter_key on counter
    (tenant_id, scope, scope_id, tool_name, signature, (coalesce(user_id, '')), (user_id is null), episode);

-- The times that a document's status was DOWN.
create table outage (
    id         bigint         generated always as identity primary key,
    tenant_id  text           collate "C" not null,
    scope      document_scope not null,
    scope_id   text           collate "C" not null,
    tool_name  text           collate "C" not null,
    signature  text           collate "C" not null,
    started_at bigint         not null,
    ended_at   bigint,
    censored   boolean        not null default false
);
create index outage_by_document on outage (tenant_id, scope, scope_id, tool_name, started_at desc, id desc);
create unique index outage_open on outage (tenant_id, scope, scope_id, tool_name) where ended_at is null;

-- The queue of diagnoses (R194 to R199).
create table job (
    id            uuid           primary key,
    service_type  text           collate "C" not null,
    -- Whose queue.
    tenant_id     text           collate "C" not null,
    project_id    text           collate "C" not null,
    -- Which document.
    key_tenant_id text           collate "C" not null,
    scope         document_scope not null,
    scope_id      text           collate "C" not null,
    tool_name     text           collate "C" not null,
    signature     text           collate "C" not null,
    key_user      text           collate "C",
    trigger       text           collate "C" not null
        check (trigger in ('tool_call_error', 'user_request', 'scheduled_recheck')),
    -- The first and the last four.
    signals       jsonb          not null,
    signal_count  bigint         not null,
    state         text           collate "C" not null check (state in ('QUEUED', 'RUNNING', 'DONE', 'STALE')),
    lease_token   bigint         not null default 0,
    lease_until   bigint,
    created_at    bigint         not null,
    ended_at      bigint,
    reason        text           collate "C"
);
-- One open job a coalescing key (R198, R199, C6).
create unique index job_open on job
    (service_type, key_tenant_id, scope, scope_id, tool_name, signature, (coalesce(key_user, '')), (key_user is null))
    where state in ('QUEUED', 'RUNNING');
-- At most one running job a queue.
create unique index job_running on job (tenant_id, project_id) where state = 'RUNNING';
create index job_ready on job ((trigger <> 'user_request'), created_at, id) where state = 'QUEUED';
create index job_lease on job (lease_until) where state = 'RUNNING';
create index job_newest on job (tenant_id, created_at desc, id desc);
-- The limit of a queue.
create index job_by_queue on job (tenant_id, project_id, created_at, id) where state = 'QUEUED';
-- Deletes with a document, and the sweep.
create index job_by_document on job (key_tenant_id, scope, scope_id, tool_name);
create index job_ended on job (ended_at) where ended_at is not null;

-- Rule layers that were put through the API. The text is kept as it came.
create table rule_layer (
    tenant_id  text   collate "C" not null,
    project_id text   collate "C",
    body       text   not null,
    updated_at bigint not null,
    updated_by text   not null,
    -- `store.rules_revision` as its put made it.
    version    bigint not null
);
create unique index rule_layer_key on rule_layer (tenant_id, (coalesce(project_id, '')), (project_id is null));
