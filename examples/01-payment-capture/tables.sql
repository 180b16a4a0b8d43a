create table merchant (
  id     text primary key,
  status text not null default 'active' check (status in ('active', 'blocked'))
);

create table capture (
  capture_request_id text primary key,
  merchant_id        text not null,
  amount             bigint not null,
  currency           text not null,
  correlation_id     text not null
);

-- A rebuild writes here, beside the live table; compare, then swap.
create table capture_rebuilt (like capture including all);
