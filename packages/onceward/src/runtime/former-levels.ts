import type { SourceDeclaration } from '../contract/contract.ts'
import type { Consumer } from '../contract/define-consumer.ts'
import type { SqlTransaction } from '../contract/handler.ts'
import type { SqlPool } from '../drivers/postgres/pool.ts'
import { isHeard } from '../drivers/postgres/sql/clock-ahead.ts'
import type { Log } from '../environment.ts'
import { levelQueue } from '../ports/retry-levels.ts'
import type { Source } from '../ports/source.ts'
import type { Broker } from './open-source.ts'

/**
 * Delay levels of a log that the consumer has read, by the partitions that its runs took. $3 is what their
 * names begin with. Read now: a process with the contract of before may still be writing copies.
 */
const everRead = `
  select level::float8 as "levelMs", bool_or(is_read) as "isRead" from (
    select substring(substring(k.partition from length($3::text) + 1) from '^([0-9]+)/[0-9]+$')::numeric as level,
      coalesce(r.ended_at is null and ${isHeard('r.heartbeat_at', '30 seconds')}, false) as is_read
    from onceward.checkpoint k join onceward.consumer c on c.id = k.consumer_id left join onceward.run r on r.id = k.run_id
    where c.name = $1 and c.generation = $2 and starts_with(k.partition, $3::text)) known
  where level is not null group by level order by level`

const inOutbox = `
  select substring(queue from length($2::text) + 1)::float8 as "levelMs", count(*)::integer as copies from onceward.outbox
  where broker = $1 and starts_with(queue, $2::text) and substring(queue from length($2::text) + 1) ~ '^[0-9]{1,15}$' group by queue`

/** Copies for delay levels, by level, that no relay has taken to the broker yet. */
export async function copiesInOutbox(
  pool: SqlPool,
  source: SourceDeclaration,
): Promise<ReadonlyMap<number, number>> {
  const name = nameOf(source)
  if (name === null) return new Map()
  const { rows } = await pool.query(inOutbox, [source.kind, levelQueue(name, '')])
  return new Map(rows.map(row => [row.levelMs as number, row.copies as number]))
}

/**
 * On a log somebody must read a delay level: copies in one that the contract does not name any more, because
 * failure.mode or its delays were changed, would wait for ever. What is left of them is read beside the
 * source. A queue's levels come back by themselves.
 */
export async function openFormerLevels<M>(
  { name, generation, source, failure }: Consumer<M, SqlTransaction>,
  broker: Broker,
  unsent: ReadonlyMap<number, number>,
  { pool, log }: { readonly pool: SqlPool; readonly log: Log },
): Promise<readonly Source[]> {
  const topic = nameOf(source)
  if (topic === null || broker.copiesIn === undefined) return []
  const { rows } = await pool.query(everRead, [name, generation, levelQueue(topic, '')])
  const former = (rows as { levelMs: number; isRead: boolean }[]).filter(
    ({ levelMs }) => !failure.retryLevelsMs.includes(levelMs),
  )
  const left: number[] = []
  for (const { levelMs, isRead } of former) {
    const inTopic = await broker.copiesIn(levelMs, { name, generation })
    const copies = (inTopic ?? 0) + (unsent.get(levelMs) ?? 0)
    const facts = { consumer: name, topic: levelQueue(topic, levelMs), copies }
    if (inTopic === null) {
      if (copies > 0) log.error('a delay level is gone, and copies for it wait in the outbox', facts)
    } else if (copies > 0 || isRead) {
      left.push(levelMs)
      log.warn(
        'reading a delay level that the contract does not name any more, for what is left in it',
        facts,
      )
    }
  }
  return left.length === 0 ? [] : broker.openRetryLevels!(left)
}

function nameOf(source: SourceDeclaration): string | null {
  const { queue, topic } = source as SourceDeclaration & { queue?: string; topic?: string }
  if (source.kind === 'kafka') return topic!
  return source.kind === 'rabbitmq' ? queue! : null
}
