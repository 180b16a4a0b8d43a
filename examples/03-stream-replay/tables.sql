create table parcel (
  parcel_id text primary key,
  status    text not null,
  place     text not null,
  -- Adds up: were a scan counted twice, it would show here.
  scans     integer not null,
  last_at   timestamptz not null
);

-- A rebuild writes here, beside the live table; compare, then swap.
create table parcel_rebuilt (like parcel including all);
