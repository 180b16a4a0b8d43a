import { processDied, type SuspectStore } from '../../../ports/suspects.ts'
import type { ClockSteps } from '../clock-steps.ts'
import type { SqlClient } from '../pool.ts'
import type { ServerIncarnation } from '../server-incarnation.ts'

/**
 * A time ahead of the clock was written by a wrong clock: such a heartbeat is ignored, and such a start is
 * not compared.
 */
const beat = `
  with me as (update onceward.run set heartbeat_at = clock_timestamp() where id = $2 returning started_at),
  silent as (select r.id, r.deliveries_max from onceward.run r, me
  where r.consumer_id = $1 and r.id <> $2 and r.cleared_at is null and r.campaign_id is null
    and (r.ended_at is null or r.halted_reason is not null) and (r.heartbeat_at <= greatest(case when me.started_at <= clock_timestamp() then me.started_at end, clock_timestamp() - $3::float8 * interval '1 millisecond')
      or r.heartbeat_at > clock_timestamp() + $3::float8 * interval '1 millisecond'))
  select (extract(epoch from clock_timestamp()) * 1000)::float8 as database_ms, silent.id, silent.deliveries_max
  from (values (1)) as beaten left join silent on true order by silent.id`

/**
 * Groups of a cleared run stay for an hour: a second crashing message may be in them, and its search
 * continues where it was when the first one was found. After that they expire, so no process has to remove
 * them.
 */
const clear = `
  with forgotten as (
    delete from onceward.suspect_group g using onceward.run r
    where g.consumer_id = $1 and r.id = g.run_id and r.cleared_at < clock_timestamp() - interval '1 hour')
  update onceward.run set cleared_at = clock_timestamp()
  where consumer_id = $1 and id = any($2::integer[]) and (ended_at is null or halted_reason is not null) and cleared_at is null`

/**
 * It must survive the process, not the server, so it does not wait for the disk. Rows of a run that was
 * closed in order mean no crash, and neither do rows of this run. A repeated call after a lost answer is not
 * counted twice. A number that another process has just used belongs to a later holder, and counts for both.
 */
const begin = `
  with unhurried as materialized (select set_config('synchronous_commit', 'off', true)),
  known as materialized (
    select number, run_id, code = '${processDied}' as died from onceward.attempt where consumer_id = $1 and message_id = $3),
  earlier as materialized (
    select count(*)::integer as attempts, count(*) filter (where died)::integer as deaths,
      (select coalesce(max(number), 0) from known) as number
    from known k
    where not (died and (run_id = $2 or exists (
      select from onceward.run where id = k.run_id and ended_at is not null and halted_reason is null)))),
  through as (
    delete from onceward.attempt
    where consumer_id = $1 and run_id = $2 and message_id = any($5::text[]) and code = '${processDied}'),
  through_together as (
    delete from onceward.suspect_group where consumer_id = $1 and run_id = $2 and message_id = any($5::text[])),
  begun as (
    insert into onceward.attempt (consumer_id, run_id, message_id, number, failure_class, code, error)
    select $1, $2, $3, number + 1, 'poison', '${processDied}', 'its process crashed while handling it'
    from earlier, unhurried where (attempts < $4 or deaths = 0)
      and ($3 = any($5::text[]) or not exists (select from known where died and run_id = $2))
    on conflict do nothing)
  select attempts, deaths from earlier`

/** As durable as an attempt. An id that was processed and is in this group again keeps its row. */
const beginGroup = `
  with unhurried as materialized (select set_config('synchronous_commit', 'off', true)),
  through as (
    delete from onceward.attempt
    where consumer_id = $1 and run_id = $2 and message_id = any($5::text[]) and code = '${processDied}'),
  through_together as (
    delete from onceward.suspect_group
    where consumer_id = $1 and run_id = $2 and message_id = any($5::text[]) and message_id <> all($3::text[]))
  insert into onceward.suspect_group (consumer_id, run_id, message_id, size)
  select $1, $2, id, $4 from unhurried, (select distinct unnest($3::text[]) as id) ids order by id
  on conflict (consumer_id, message_id, run_id) do update set size = excluded.size`

/** Rows of a run that was closed in order mean no crash, and neither do rows of this run. */
const groupLimits = `
  with died as (
    select message_id, run_id, greatest(1, size / 2) as most from onceward.suspect_group
    where consumer_id = $1 and message_id = any($3::text[]) and run_id <> $2
    union all
    select message_id, run_id, 1 from onceward.attempt
    where consumer_id = $1 and message_id = any($3::text[]) and run_id <> $2 and code = '${processDied}')
  select message_id as id, min(most)::integer as most from died d
  where not exists (
    select from onceward.run where id = d.run_id and ended_at is not null and halted_reason is null)
  group by message_id`

/** The attempts that this run began, alone or in groups, and that returned. */
export const withdraw = `
  with groups as (
    delete from onceward.suspect_group where consumer_id = $1 and run_id = $2 and message_id = any($3::text[]))
  delete from onceward.attempt
  where consumer_id = $1 and run_id = $2 and message_id = any($3::text[]) and code = '${processDied}'`

export function suspectLedger(
  client: SqlClient,
  incarnation: ServerIncarnation,
  steps: ClockSteps,
): SuspectStore {
  return {
    async beat({ consumerId, runId }, silentMs, clock) {
      await incarnation.check(client)
      const askedMs = clock?.nowMs()
      const { rows } = await client.query(beat, [consumerId, runId, silentMs])
      if (clock !== undefined) await steps.look(clock, askedMs!, rows[0].database_ms)
      return rows
        .filter(row => row.id !== null)
        .map(row => ({ runId: row.id as number, deliveriesMax: row.deliveries_max as number }))
    },
    async clear({ consumerId }, runIds) {
      await client.query(clear, [consumerId, runIds])
    },
    async beginAttempt({ consumerId, runId }, id, attemptsMax, survived = []) {
      const { rows } = await client.query(begin, [consumerId, runId, id, attemptsMax, survived])
      return { attempts: rows[0].attempts as number, deaths: rows[0].deaths as number }
    },
    async beginGroup({ consumerId, runId }, ids, size, survived = []) {
      await client.query(beginGroup, [consumerId, runId, ids, size, survived])
    },
    async groupLimits({ consumerId, runId }, ids) {
      const { rows } = await client.query(groupLimits, [consumerId, runId, ids])
      return new Map(rows.map(({ id, most }) => [id as string, most as number]))
    },
  }
}
