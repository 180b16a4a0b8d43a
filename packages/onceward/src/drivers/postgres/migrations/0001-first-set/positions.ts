/** Positions in the partitions of logs, and records that a log lost before they were read. */
export const positions = `
-- Who reads a partition, and up to where it is settled as far as this database knows. The epoch fences an
-- owner that has lost the partition.
create table onceward.checkpoint (
  consumer_id integer not null,
  partition   text collate "C" not null,
  epoch       integer not null,
  run_id      integer not null,
  incarnation text,
  next        text,
  at          timestamptz not null default clock_timestamp(),
  primary key (consumer_id, partition)
) with (fillfactor = 50);

-- A declared loss: records that the log no longer had when the consumer came for them. The consumer reads on
-- from to_next once a person has accepted the loss. A loss whose records turned out to be there is withdrawn:
-- closed by resumed_at like one that was read past, with the reason. Rejected: a state of its own for it,
-- which every query for open losses would have to know.
create table onceward.loss (
  id                bigint generated always as identity primary key,
  consumer_id       integer not null,
  partition         text collate "C" not null,
  from_incarnation  text not null,
  from_next         text not null,
  to_incarnation    text,
  to_next           text,
  records           bigint,
  reason            text not null,
  -- Of the first declaration: the age of records is compared with it. declared_at is of the latest.
  first_declared_at timestamptz not null default clock_timestamp(),
  declared_at       timestamptz not null default clock_timestamp(),
  declared_by       integer not null,
  accepted_at       timestamptz,
  accepted_by       text,
  accepted_because  text,
  withdrawn_because text,
  resumed_at        timestamptz
);
create unique index loss_once on onceward.loss (consumer_id, partition, from_incarnation, from_next)
  where resumed_at is null;

create function onceward.loss_actor() returns trigger language plpgsql
set search_path = pg_catalog, pg_temp as $$ begin new.accepted_by := onceward.actor(); return new; end $$;
create trigger actor before update of accepted_at on onceward.loss for each row
  when (old.accepted_at is null and new.accepted_at is not null) execute function onceward.loss_actor();

create function onceward.audit_loss() returns trigger language plpgsql security definer
set search_path = pg_catalog, pg_temp as $$
begin
  perform onceward.audit_entry('losses accept', 'done',
    (select name from onceward.consumer where id = new.consumer_id), new.id::text,
    coalesce(new.accepted_because, ''),
    jsonb_build_object('partition', new.partition, 'records', new.records));
  return null;
end $$;
create trigger audited after update of accepted_at on onceward.loss for each row
  when (old.accepted_at is null and new.accepted_at is not null) execute function onceward.audit_loss();

-- What a person accepts: a loss with another end or another count is another loss. Declared again with the
-- same facts, it is the same loss.
create function onceward.loss_digest(g onceward.loss) returns text language sql stable
return left(encode(sha256(convert_to(concat_ws(chr(31),
  (g).consumer_id, (g).partition, (g).from_incarnation, (g).from_next,
  coalesce((g).to_incarnation, '-'), coalesce((g).to_next, '-'), coalesce((g).records::text, '-')),
  'UTF8')), 'hex'), 16);

-- A loss that is accepted after somebody took the partition and read on would set the consumer back. Whoever
-- takes the partition at this moment is waited for: the checkpoint is locked before the loss, in the same
-- order as by the process that reads on.
create function onceward.accept_loss(loss bigint, consumer text, seen text, because text) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare g onceward.loss; of text; subject text := loss::text;
begin
  perform onceward.assert_present();
  perform from onceward.checkpoint c
    join onceward.loss r on r.consumer_id = c.consumer_id and r.partition = c.partition
    where r.id = loss for share of c;
  select * into g from onceward.loss r where r.id = loss for update;
  if not found then
    return onceward.refuse('losses accept', consumer, subject,
      format('There is no declared loss %s.', loss)); end if;
  select c.name into of from onceward.consumer c where c.id = g.consumer_id;
  if of is distinct from consumer then
    return onceward.refuse('losses accept', of, subject,
      format('Loss %s is not of consumer "%s".', loss, consumer)); end if;
  if onceward.is_blank(because) then
    return onceward.refuse('losses accept', of, subject, 'Say why the loss is acceptable.'); end if;
  if g.withdrawn_because is not null then
    return onceward.refuse('losses accept', of, subject,
      format('Loss %s was withdrawn: %s. There is nothing to accept.', loss, g.withdrawn_because)); end if;
  if g.accepted_at is not null or g.resumed_at is not null then
    return onceward.refuse('losses accept', of, subject, format('Loss %s is already %s, by %s.', loss,
      case when g.resumed_at is not null then 'resumed' else 'accepted' end,
      coalesce(g.accepted_by, 'nobody'))); end if;
  if onceward.loss_digest(g) is distinct from seen then
    return onceward.refuse('losses accept', of, subject,
      format('Loss %s is not as it was shown: it goes from %s to %s by now, %s records.', loss,
        g.from_next, coalesce(g.to_next, 'nowhere'), coalesce(g.records::text, 'an unknown number of')));
  end if;
  if g.to_next is null then
    return onceward.refuse('losses accept', of, subject,
      format('Loss %s has nothing to go on from: bring the log back first, the next start declares it anew.',
        loss)); end if;
  if exists (select from onceward.checkpoint c
    where c.consumer_id = g.consumer_id and c.partition = g.partition and c.at > g.declared_at) then
    return onceward.refuse('losses accept', of, subject,
      format('Loss %s is not where the consumer stands any more: since it was declared '
        'somebody took the partition. If it halts there again, it declares the loss anew.', loss)); end if;
  -- The table's triggers write the name and the audit, as for every other way to accept a loss.
  update onceward.loss r set accepted_at = clock_timestamp(), accepted_because = because where r.id = loss;
  return jsonb_build_object('ok', true, 'acceptedBy', onceward.actor());
end $$;
`
