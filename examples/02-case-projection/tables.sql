create table case_projection (
  case_id     text primary key,
  version     bigint not null,
  state       text not null,
  occurred_at timestamptz not null,
  event_id    text not null,
  -- How many events moved it: were one applied twice, it would show here.
  moves       integer not null
);

-- A rebuild writes here, beside the live table; compare, then swap.
create table case_projection_rebuilt (like case_projection including all);

-- Events that did not move their case to the next version, each with the reason.
--   stale: changed nothing, the projection already holds a newer version
--   gap:   applied, although versions before it have not been seen
create table case_note (
  generation  integer not null,
  event_id    text not null,
  case_id     text not null,
  version     bigint not null,
  found       bigint,
  kind        text not null check (kind in ('stale', 'gap')),
  primary key (generation, event_id)
);
