-- Schema 2: the journal of failures. Programs of schema 1 work with it, and know nothing of it.
--
-- content: text of the program's own, with its version in it. No person is named in here.
create table failures (
    id text primary key,
    tenant_id text not null,
    project_id text not null,
    at integer not null,
    content text not null
) strict, without rowid;

-- The order of a journal, for pages and for what is over its limit.
create index failures_by_place on failures (tenant_id, at, id);
create index failures_by_project on failures (tenant_id, project_id, at, id);
