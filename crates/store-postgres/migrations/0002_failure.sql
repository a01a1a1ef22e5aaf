-- Schema 2: the journal of failures. Programs of schema 1 work with it, and know nothing of it.

-- What tools failed with lately, for trying rules. No person is named in here. `content` is text of the program's own,
-- with its version in it.
create table failure (
    id         uuid   primary key,
    tenant_id  text   collate "C" not null,
    project_id text   collate "C" not null,
    at         bigint not null,
    content    text   not null
);
-- The order of a journal, for pages and for what is over its limit.
create index failure_by_place on failure (tenant_id, at desc, id desc);
create index failure_by_project on failure (tenant_id, project_id, at desc, id desc);
