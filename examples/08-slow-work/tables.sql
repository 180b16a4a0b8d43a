-- Numbered within the account, so that a repeated or overtaken message would show.
create table if not exists statement (
  account_id  text not null,
  month       text not null,
  number      integer not null,
  text        text not null,
  rendered_at timestamptz not null default clock_timestamp(),
  primary key (account_id, number)
);
