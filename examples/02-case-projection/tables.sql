create table case_projection (
  case_id     text primary key,
  version     bigint not null,
  state       text not null,
  occurred_at timestamptz not null,
  event_id    text not null
);

-- A rebuild writes here, beside the live table; compare, then swap.
create table case_projection_rebuilt (like case_projection including all);

-- The history: one row per event that moved its case. Applied twice, an event would break the primary key.
create table case_move (
  generation   integer not null,
  event_id     text not null,
  case_id      text not null,
  from_version bigint,
  version      bigint not null,
  state        text not null,
  primary key (generation, event_id)
);
