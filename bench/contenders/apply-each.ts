import type pg from 'pg'
import type { Increment } from '../workload.ts'
import { insertFresh, type Parsed, parse } from './apply-batch.ts'

const increment = 'update counter set total = total + $2 where key = $1'

/** In order of key, so that two batches cannot wait for each other in a circle. */
export function byKey(messages: readonly Increment[]): readonly Increment[] {
  return messages.toSorted((a, b) => a.key - b.key)
}

/**
 * A statement for each message, as per-message handlers have, by hand: prepared once for a connection, sent
 * without waiting for the one before. Needs a client in pipeline mode.
 */
export async function applyEach(client: pg.ClientBase, bodies: readonly Buffer[]): Promise<void> {
  const batch = bodies.map(parse).sort((a, b) => (a.message.id < b.message.id ? -1 : 1))
  const begun = client.query('begin')
  await Promise.all([begun, writeEach(client, batch)])
  await client.query('commit')
}

export async function writeEach(client: pg.ClientBase, batch: readonly Parsed[]): Promise<void> {
  const fresh = await insertFresh(client, batch)
  await Promise.all(
    byKey(fresh).map(({ key, amount }) =>
      client.query({ name: 'increment', text: increment, values: [key, amount] }),
    ),
  )
}
