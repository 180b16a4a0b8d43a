-- One row per fact, one more per reversal; never updated, never deleted.
create table sla_fact (
  event_id     text collate "C" not null,
  sign         smallint not null check (sign in (1, -1)),
  reverses     text collate "C",
  key          text not null,
  window_start timestamptz not null,
  occurred_at  timestamptz not null,
  minutes      numeric(10, 2) not null,
  breaches     bigint not null,
  message_id   text not null,
  recorded_at  timestamptz not null default now(),
  primary key (event_id, sign)
);
create unique index on sla_fact (reverses) where reverses is not null;

-- The sums of the facts, written with them. `drift` recounts the facts and compares.
create table sla_hour (
  key          text not null,
  window_start timestamptz not null,
  count        bigint not null,
  minutes      numeric(12, 2) not null,
  breaches     bigint not null,
  latest_at    timestamptz not null,
  primary key (key, window_start)
);
