import { readOutboxRows, type WaitingOutboxRow } from '../drivers/postgres/evidence/read-outbox.ts'
import type { SqlClient } from '../drivers/postgres/pool.ts'
import { stableId } from '../message/stable-id.ts'
import type { Event, ExplainOptions, Subject } from './explanation.ts'
import type { Trouble } from './read-trouble.ts'

/** How many calls of one handler are searched by their ids; more are rare. */
const callsMax = 8
/**
 * Rows leave the outbox only after the broker has confirmed them. A recorded message without a row was
 * published.
 */
export async function readOutbox(
  client: SqlClient,
  { consumer, messageId }: Subject,
  { heldIds, published }: Trouble,
  { contract }: ExplainOptions,
): Promise<readonly Event[]> {
  const targets = contract?.name === consumer ? Object.keys(contract.effect?.publish ?? {}) : []
  const made = targets.flatMap(target =>
    Array.from({ length: callsMax }, (_, call) => stableId(consumer, messageId, target, call)),
  )
  const noted = published.map(({ id }) => id)
  const copies = [messageId, ...heldIds.map(id => `held:${id}`)]
  const rows = await readOutboxRows(client, [...copies, ...made, ...noted])
  const there = new Set(rows.map(row => row.id))
  return [
    ...rows.map(row => ({
      at: row.at,
      what: copies.includes(row.id) ? 'dead letter in the outbox' : 'message in the outbox',
      text: `to ${row.target} at ${row.destination} under id ${row.id}, ${stateOf(row)}`,
      facts: { id: row.id, target: row.target, destination: row.destination, key: row.key },
    })),
    ...published
      .filter(({ id }) => !there.has(id))
      .map(({ id, target, at, runId }) => ({
        at,
        what: 'published',
        text: `to ${target} under id ${id}; the broker has confirmed it`,
        runId,
        facts: { id, target },
      })),
  ]
}

function stateOf({ failures, error, served, behindId, behind }: WaitingOutboxRow): string {
  const said = failures > 0 ? `refused ${failures} times: ${error}` : 'not confirmed by the broker yet'
  const parts = [
    said,
    ...(behindId === null ? [] : [`waits behind ${behindId}, which the broker refuses`]),
    ...(behind === 0 ? [] : [`${behind} later ones of its key wait behind it`]),
    ...(served ? [] : ['no relay is connected there']),
  ]
  return parts.join('; ')
}
