create table case_workflow (
  case_id text primary key,
  state   text not null,
  version bigint not null,
  outcome text
);

-- One row per transition that happened, never changed: who moved which case from where to where, why, and by which message.
create table case_transition (
  seq           bigint generated always as identity primary key,
  transition_id text collate "C" not null unique,
  consumer      text not null,
  aggregate_id  text not null,
  from_state    text,
  to_state      text not null,
  version       bigint not null,
  actor         text,
  reason        text,
  message_id    text not null,
  at            timestamptz not null default now()
);

create table supervisor_alert (
  alert_id       uuid primary key,
  case_id        text not null,
  text           text not null,
  correlation_id text not null,
  causation_id   text not null
);
