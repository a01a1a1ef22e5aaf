-- Schema 1. Instants are microseconds since 1970, ids of jobs are hyphenated text, and everything is STRICT: what has the
-- wrong type is refused when it is written.
--
-- scope: 1 = SESSION, 2 = USER, 3 = PROJECT, 4 = TENANT, 5 = GLOBAL. A number, because lists are sorted from narrow to wide.

-- One row. epoch: the identity of this store. position: the number of the last commit that changed a document. floor: the feed
-- is complete after this position. rules_revision: the number of the last change of a rule layer.
create table meta (
    id integer primary key check (id = 1),
    epoch text not null,
    position integer not null,
    floor integer not null,
    rules_revision integer not null
) strict;

insert into meta (id, epoch, position, floor, rules_revision) values (1, lower(hex(randomblob(8))), 0, 0, 0);

-- body: the document as JSON, in the format that `format` names. status and next_cooldown_at are copies from it for lists.
-- version: what writers compare. revision: the place in the feed.
create table documents (
    id integer primary key,
    tenant_id text not null,
    scope integer not null,
    scope_id text not null,
    tool_name text not null,
    status text,
    next_cooldown_at integer,
    version integer not null,
    revision integer not null,
    updated_at integer not null,
    format integer not null,
    body text not null
) strict;

-- R38 with the tenant of C25; also the order of lists.
create unique index documents_by_key on documents (tenant_id, scope, scope_id, tool_name);
-- R39: lists by status, of one container and of a whole tenant.
create index documents_by_status on documents (tenant_id, status, scope, scope_id, tool_name)
    where status is not null;
-- R40: the overview of one tool over all scopes, in the order of lists; the status is told by the index.
create index documents_by_tool on documents (tenant_id, tool_name, scope, scope_id, status);
-- R41: sweeps of cooldowns.
create index documents_by_cooldown on documents (next_cooldown_at) where next_cooldown_at is not null;
-- The feed, and the sweep of sessions.
create index documents_by_revision on documents (revision);
create index documents_sessions on documents (updated_at, id) where scope = 1;

-- What was deleted, for the feed.
create table tombstones (
    tenant_id text not null,
    scope integer not null,
    scope_id text not null,
    tool_name text not null,
    version integer not null,
    revision integer not null,
    deleted_at integer not null,
    primary key (tenant_id, scope, scope_id, tool_name)
) strict, without rowid;

create index tombstones_by_revision on tombstones (revision);
create index tombstones_by_age on tombstones (deleted_at, revision);

-- Hits of cooldowns. episode: when the window was opened.
create table counters (
    id integer primary key,
    document_id integer not null references documents (id) on delete cascade,
    signature text not null,
    user_id text,
    episode integer not null,
    hits integer not null,
    last_triggered_at integer not null
) strict;

-- Nobody is not the user with the empty name.
create unique index counters_by_key on counters (document_id, signature, user_id is null, coalesce(user_id, ''), episode);

-- Times that a document was DOWN. They outlive the document.
create table outages (
    id integer primary key,
    tenant_id text not null,
    scope integer not null,
    scope_id text not null,
    tool_name text not null,
    signature text not null,
    started_at integer not null,
    ended_at integer,
    censored integer not null
) strict;

create index outages_by_document on outages (tenant_id, scope, scope_id, tool_name, started_at, id);
create unique index outages_open on outages (tenant_id, scope, scope_id, tool_name) where ended_at is null;

-- signals: JSON. cause: why the job was created.
create table jobs (
    id text primary key,
    service_type text not null,
    tenant_id text not null,
    project_id text not null,
    key_tenant_id text not null,
    scope integer not null,
    scope_id text not null,
    tool_name text not null,
    signature text not null,
    key_user text,
    cause text not null,
    signals text not null,
    signal_count integer not null,
    state text not null,
    lease_token integer not null,
    lease_until integer,
    created_at integer not null,
    ended_at integer,
    reason text
) strict, without rowid;

-- R198, C6: one open job per coalescing key.
create unique index jobs_open on jobs
    (service_type, key_tenant_id, scope, scope_id, tool_name, signature, key_user is null, coalesce(key_user, ''))
    where state in ('QUEUED', 'RUNNING');
-- R194: of one project at most one runs.
create unique index jobs_running on jobs (tenant_id, project_id) where state = 'RUNNING';
-- The order of claims.
create index jobs_queued on jobs (cause <> 'user_request', created_at, id) where state = 'QUEUED';
create index jobs_by_tenant on jobs (tenant_id, created_at, id);
-- The limit of a queue.
create index jobs_by_queue on jobs (tenant_id, project_id, created_at, id) where state = 'QUEUED';
-- Deletes with a document, and the sweep.
create index jobs_by_document on jobs (key_tenant_id, scope, scope_id, tool_name);
create index jobs_by_end on jobs (ended_at) where ended_at is not null;

create table rule_layers (
    id integer primary key,
    tenant_id text not null,
    project_id text,
    body text not null,
    updated_at integer not null,
    updated_by text not null,
    version integer not null
) strict;

create unique index rule_layers_by_key on rule_layers (tenant_id, project_id is null, coalesce(project_id, ''));
