import type { SourceDeclaration } from '../contract/contract.ts'
import type { Consumer } from '../contract/define-consumer.ts'
import type { SqlTransaction } from '../contract/handler.ts'
import { readLevelsEverRead, readUnsentCopies } from '../drivers/postgres/outbox/read-levels.ts'
import type { SqlPool } from '../drivers/postgres/pool.ts'
import type { Log } from '../environment.ts'
import { levelQueue } from '../ports/retry-levels.ts'
import type { Source } from '../ports/source.ts'
import type { Broker } from './open-source.ts'

/** Copies for delay levels, by level, that no relay has published yet. */
export async function copiesInOutbox(
  pool: SqlPool,
  source: SourceDeclaration,
): Promise<ReadonlyMap<number, number>> {
  const name = nameOf(source)
  if (name === null) return new Map()
  const unsent = await readUnsentCopies(pool, source.kind, levelQueue(name, ''))
  return new Map(unsent.map(({ levelMs, copies }) => [levelMs, copies]))
}

/**
 * On a log, a consumer must read each delay level. Copies in a level that the contract no longer names,
 * because failure.mode or its delays changed, would wait forever. The remaining copies are read beside the
 * source. The levels of a queue return their copies without a reader.
 */
export async function openFormerLevels<M>(
  { name, generation, source, failure }: Consumer<M, SqlTransaction>,
  broker: Broker,
  unsent: ReadonlyMap<number, number>,
  { pool, log }: { readonly pool: SqlPool; readonly log: Log },
): Promise<readonly Source[]> {
  const topic = nameOf(source)
  if (topic === null || broker.copiesIn === undefined) return []
  const levels = await readLevelsEverRead(pool, { name, generation }, levelQueue(topic, ''))
  const former = levels.filter(({ levelMs }) => !failure.retryLevelsMs.includes(levelMs))
  const left: number[] = []
  for (const { levelMs, isRead } of former) {
    const inTopic = await broker.copiesIn(levelMs, { name, generation })
    const copies = (inTopic ?? 0) + (unsent.get(levelMs) ?? 0)
    const facts = { consumer: name, topic: levelQueue(topic, levelMs), copies }
    if (inTopic === null) {
      if (copies > 0) log.error('delay level does not exist, and copies for it wait in the outbox', facts)
    } else if (copies > 0 || isRead) {
      left.push(levelMs)
      log.warn('reading the remaining copies of a delay level that the contract no longer names', facts)
    }
  }
  return left.length === 0 ? [] : broker.openRetryLevels!(left)
}

function nameOf(source: SourceDeclaration): string | null {
  const { queue, topic } = source as SourceDeclaration & { queue?: string; topic?: string }
  if (source.kind === 'kafka') return topic!
  return source.kind === 'rabbitmq' ? queue! : null
}
