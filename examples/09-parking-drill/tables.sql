create table if not exists account (id text primary key);

-- Numbered within the account, so that an invoice that overtook another would show.
create table if not exists booking (
  account_id text not null references account,
  number     integer not null,
  invoice_id text not null unique,
  amount     integer not null,
  primary key (account_id, number)
);
