create table shop_order (
  order_id   text primary key,
  customer   text not null,
  state      text not null check (state in ('placed', 'paid', 'shipped')),
  version    integer not null,
  changed_at timestamptz not null default clock_timestamp()
);

-- The view of another service. An event applied twice would show in moves.
create table order_board (
  order_id text primary key,
  state    text not null,
  version  integer not null,
  moves    integer not null
);
