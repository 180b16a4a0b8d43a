import { silentAfterMs } from '../../../ports/suspects.ts'
import type { SqlPool } from '../pool.ts'
import { type RetentionStatus, readRetention } from '../retention/read-retention.ts'
import { isHeard } from '../sql/clock-ahead.ts'
import { type UnreadLevels, unreadLevels } from './unread-levels.ts'
import { type UnservedWork, unservedWork } from './unserved-work.ts'

/** Consumers, work, effects, outbox and queues of a database at one time. */
export interface Status {
  readonly schemaVersion: number
  /** The planner's estimate: counting millions of markers would cost more than the answer is worth. */
  readonly markersAbout: number
  readonly consumers: readonly ConsumerStatus[]
  readonly ledger: readonly { consumer: string; target: string; state: string; count: number }[]
  readonly outbox: readonly OutboxStatus[]
  readonly relays: readonly {
    destination: string
    instance: string
    buckets: number
    /** Since when it has the bucket it leased first; null without buckets. */
    leasedAt: Date | null
    leaseSeconds: number
  }[]
  readonly partitions: readonly PartitionStatus[]
  readonly openLosses: number
  /** Acknowledged messages that no worker processes, and what they wait for. */
  readonly unserved: readonly UnservedWork[]
  /** Messages whose next attempt waits in a log that no process reads. */
  readonly unreadLevels: readonly UnreadLevels[]
  readonly queues: readonly { name: string; waiting: number; leased: number; oldestSeconds: number | null }[]
  /** How long each kind of row is kept, the horizon, and the size of the tables. */
  readonly retention: RetentionStatus
}

export interface OutboxStatus {
  /** Cluster and virtual host, or `postgres` and `cdc`. */
  readonly destination: string
  readonly broker: string
  readonly queue: string
  readonly waiting: number
  readonly oldestSeconds: number
  /** Rows that the broker rejected at the last attempt; others may wait behind them. */
  readonly failing: number
  /** Rows that were not sent because an earlier one of their key failed. */
  readonly behind: number
  readonly lastError: string | null
  /** A live relay is connected to the destination. Rows of other destinations wait until one is. */
  readonly served: boolean
}

export interface ConsumerStatus {
  readonly name: string
  readonly generation: number
  readonly owner: string
  readonly risk: string
  /** Runs with a recent heartbeat. */
  readonly openRuns: number
  /** Runs that ended without recording it, and whose messages no process has taken over yet. */
  readonly silentRuns: number
  /** Why the source is paused, and for how long; null if it is not. */
  readonly pausedBecause: string | null
  readonly pausedSeconds: number | null
  /** Work that is due or waits for its turn, and the age of the oldest. */
  readonly pending: number
  readonly oldestPendingSeconds: number | null
  readonly parked: number
  readonly dead: number
  readonly quarantined: number
}

/** The process that reads a partition of a log, and its last stored position. */
export interface PartitionStatus {
  readonly consumer: string
  readonly partition: string
  readonly epoch: number
  readonly next: string | null
  readonly owner: string
  readonly secondsAgo: number
}

/** Open runs, and whether their heartbeat is recent; for runs of a campaign its lease decides. */
const heardRuns = `
  select r.*, case when r.campaign_id is null then ${isHeard('r.heartbeat_at', `${silentAfterMs} milliseconds`)}
    else exists (select from onceward.campaign c where c.id = r.campaign_id and c.lease_until > clock_timestamp()
      and c.holder = r.instance) end as heard
  from onceward.run r where r.consumer_id = consumer.id and r.ended_at is null`

export async function readStatusRows(pool: SqlPool): Promise<Status> {
  const { rows: about } = await pool.query(`
    select (select max(version) from onceward.migration) as version,
      (select sum(greatest(0, reltuples)) from pg_class
        where relkind = 'r' and oid in (select relid from pg_partition_tree('onceward.inbox') where isleaf union select 'onceward.inbox'::regclass))::bigint::float8 as markers`)
  const consumers = await pool.query(`
    select name, generation, owner, risk,
      runs.open as "openRuns", runs.silent as "silentRuns",
      runs.because as "pausedBecause", runs.seconds as "pausedSeconds",
      count(held.id) filter (where state in ('stored', 'waiting'))::int as pending,
      extract(epoch from clock_timestamp() - min(first_at) filter (where state in ('stored', 'waiting')))::float8 as "oldestPendingSeconds",
      count(held.id) filter (where state = 'parked')::int as parked,
      count(held.id) filter (where state = 'dead')::int as dead,
      count(held.id) filter (where state = 'quarantined')::int as quarantined
    from onceward.consumer left join onceward.held on held.consumer_id = consumer.id
    left join lateral (
      select count(*) filter (where heard)::int as open,
        count(*) filter (where not heard and campaign_id is null and cleared_at is null)::int as silent,
        min(paused_reason) filter (where heard) as because,
        extract(epoch from clock_timestamp() - min(paused_since) filter (where heard))::float8 as seconds
      from (${heardRuns}) r) runs on true
    group by consumer.id, runs.open, runs.silent, runs.because, runs.seconds order by name, generation`)
  const ledger = await pool.query(`
    select consumer_name as consumer, target, state::text, count(*)::int from onceward.ledger
    group by 1, 2, 3 order by 1, 2, 3`)
  const outbox = await pool.query(`
    with stuck as materialized (select destination, queue, behind from onceward.outbox_stuck)
    select destination, min(broker) as broker, queue, count(*)::int as waiting,
      extract(epoch from clock_timestamp() - min(created_at))::float8 as "oldestSeconds",
      count(*) filter (where failures > 0)::int as failing,
      (select coalesce(sum(behind), 0)::int from stuck where stuck.destination = outbox.destination and stuck.queue = outbox.queue) as behind,
      max(last_error) as "lastError",
      destination = 'cdc' or exists (select from onceward.relay
        where relay.destination = outbox.destination and until > clock_timestamp()) as served
    from onceward.outbox group by destination, queue order by destination, queue`)
  const relays = await pool.query(`
    select relay.destination, instance, count(bucket)::int as buckets, min(outbox_bucket.leased_at) as "leasedAt",
      extract(epoch from until - clock_timestamp())::float8 as "leaseSeconds"
    from onceward.relay left join onceward.outbox_bucket on relay_id = relay.id group by relay.id order by 1, 2`)
  const queues = await pool.query(`
    select name, count(message.id)::int as waiting, count(message.lease_id)::int as leased,
      extract(epoch from clock_timestamp() - min(published_at))::float8 as "oldestSeconds"
    from onceward.queue left join onceward.queue_message message on message.queue_id = queue.id
    group by queue.id order by name`)
  const partitions = await pool.query(`
    select name as consumer, partition, epoch, next, instance as owner,
      extract(epoch from clock_timestamp() - at)::float8 as "secondsAgo"
    from onceward.checkpoint join onceward.consumer on consumer.id = checkpoint.consumer_id
    join onceward.run on run.id = checkpoint.run_id order by 1, 2`)
  const unserved = await pool.query(`select * from (${unservedWork}) u order by 1, 2, 3`)
  const unread = await pool.query(unreadLevels)
  const losses = await pool.query(
    'select count(*)::int as open from onceward.loss where accepted_at is null and resumed_at is null',
  )
  return {
    schemaVersion: about[0].version,
    markersAbout: about[0].markers,
    consumers: consumers.rows,
    ledger: ledger.rows,
    outbox: outbox.rows,
    relays: relays.rows,
    partitions: partitions.rows,
    openLosses: losses.rows[0].open,
    unserved: unserved.rows,
    unreadLevels: unread.rows,
    queues: queues.rows,
    retention: await readRetention(pool),
  }
}
