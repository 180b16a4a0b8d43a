/** Positions in the partitions of logs, and records that a log lost before they were read. */
export const positions = `
-- The run that reads a partition, and the position up to which this database knows it as settled. The epoch
-- fences an owner that has lost the partition.
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

-- A declared loss: records that the log no longer had when the consumer reached them. The consumer continues
-- at to_position once an operator has accepted the loss. A loss is withdrawn if its records turn out to
-- exist: it is then closed by resumed_at, like a loss that was read past, with the reason. Rejected: a
-- separate state for it, which every query for open losses would have to know.
create table onceward.loss (
  id                bigint generated always as identity primary key,
  consumer_id       integer not null,
  partition         text collate "C" not null,
  from_incarnation  text not null,
  from_position     text not null,
  to_incarnation    text,
  to_position       text,
  records           bigint,
  reason            text not null,
  -- The first declaration: the age of records is compared with it. declared_at is the latest one.
  first_declared_at timestamptz not null default clock_timestamp(),
  declared_at       timestamptz not null default clock_timestamp(),
  declared_by_run   integer not null,
  accepted_at       timestamptz,
  accepted_by       text,
  accepted_reason   text,
  withdrawn_reason  text,
  resumed_at        timestamptz
);
create unique index loss_once on onceward.loss (consumer_id, partition, from_incarnation, from_position)
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
    coalesce(new.accepted_reason, ''),
    jsonb_build_object('partition', new.partition, 'records', new.records));
  return null;
end $$;
create trigger audited after update of accepted_at on onceward.loss for each row
  when (old.accepted_at is null and new.accepted_at is not null) execute function onceward.audit_loss();

-- What an operator accepts. A loss with another end or another count is another loss. A loss that is declared
-- again with the same facts is the same loss.
create function onceward.loss_digest(g onceward.loss) returns text language sql stable
return left(encode(sha256(convert_to(concat_ws(chr(31),
  (g).consumer_id, (g).partition, (g).from_incarnation, (g).from_position,
  coalesce((g).to_incarnation, '-'), coalesce((g).to_position, '-'), coalesce((g).records::text, '-')),
  'UTF8')), 'hex'), 16);

-- A loss that is accepted after another process took the partition and read further would move the consumer
-- back. A process that takes the partition at this moment is waited for: the checkpoint is locked before the
-- loss, in the order in which a reading process locks them.
create function onceward.accept_loss(of_loss bigint, consumer text, expected text, reason text) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare g onceward.loss; of_consumer text; subject text := of_loss::text;
begin
  perform onceward.assert_read_committed();
  perform from onceward.checkpoint c
    join onceward.loss r on r.consumer_id = c.consumer_id and r.partition = c.partition
    where r.id = of_loss for share of c;
  select * into g from onceward.loss r where r.id = of_loss for update;
  if not found then
    return onceward.refuse('losses accept', consumer, subject,
      format('There is no declared loss %s.', of_loss)); end if;
  select c.name into of_consumer from onceward.consumer c where c.id = g.consumer_id;
  if of_consumer is distinct from consumer then
    return onceward.refuse('losses accept', of_consumer, subject,
      format('Loss %s does not belong to consumer "%s".', of_loss, consumer)); end if;
  if onceward.is_blank(reason) then
    return onceward.refuse('losses accept', of_consumer, subject, 'Say why the loss is acceptable.'); end if;
  if g.withdrawn_reason is not null then
    return onceward.refuse('losses accept', of_consumer, subject,
      format('Loss %s was withdrawn (%s). There is nothing to accept.', of_loss, g.withdrawn_reason)); end if;
  if g.accepted_at is not null or g.resumed_at is not null then
    return onceward.refuse('losses accept', of_consumer, subject,
      format('Loss %s is already %s, by %s.', of_loss,
      case when g.resumed_at is not null then 'resumed' else 'accepted' end,
      coalesce(g.accepted_by, 'an unknown user'))); end if;
  if onceward.loss_digest(g) is distinct from expected then
    return onceward.refuse('losses accept', of_consumer, subject,
      format('Loss %s has changed since it was shown: it now ranges from %s to %s, %s records.', of_loss,
        g.from_position, coalesce(g.to_position, 'an unknown position'),
        coalesce(g.records::text, 'an unknown number of')));
  end if;
  if g.to_position is null then
    return onceward.refuse('losses accept', of_consumer, subject,
      format('Loss %s has no position to continue from. Restore the log first; '
        'the next start declares the loss again.',
        of_loss)); end if;
  if exists (select from onceward.checkpoint c
    where c.consumer_id = g.consumer_id and c.partition = g.partition and c.at > g.declared_at) then
    return onceward.refuse('losses accept', of_consumer, subject,
      format('Loss %s is out of date: a process took the partition after the loss was declared. '
        'If the consumer halts there again, it declares the loss again.', of_loss)); end if;
  -- Triggers of the table set the name and write the audit, as for every other update that accepts a loss.
  update onceward.loss set accepted_at = clock_timestamp(), accepted_reason = accept_loss.reason
    where id = of_loss;
  return jsonb_build_object('ok', true, 'acceptedBy', onceward.actor());
end $$;
`
