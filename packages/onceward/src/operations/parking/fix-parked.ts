import { createHash } from 'node:crypto'
import type { Consumer } from '../../contract/define-consumer.ts'
import { inert } from '../../crash-points.ts'
import { acts } from '../../drivers/postgres/acts.ts'
import { readStoredHeaders } from '../../drivers/postgres/parking/read-details.ts'
import type { SqlPool } from '../../drivers/postgres/pool.ts'
import { createMessageReader } from '../../message/read-message.ts'
import type { Received } from '../../message/received.ts'
import { fromStoredJson } from '../../message/stored-json.ts'
import type { Delivery } from '../../ports/source.ts'
import { type ActOptions, act, refused } from '../act.ts'
import { diffBodies } from './diff-bodies.ts'
import type { DiffLine } from './diff-lines.ts'
import { readBody, showParked } from './show-parked.ts'

export interface PayloadFix {
  readonly id: string
  readonly body: Buffer
  readonly because: string
  /** Returns the diff, changes nothing. */
  readonly dryRun?: boolean
}

/** What a fix changed. */
export interface Fixed {
  readonly digestBefore: string
  readonly digestAfter: string
  /** Null when the bodies are not text or too long to compare. */
  readonly diff: readonly DiffLine[] | null
  /**
   * The request that a second person must approve before a redrive; null when the risk requires none.
   */
  readonly approval: { readonly id: string; readonly digest: string } | null
}

/**
 * Replaces the bytes of a parked message. The contract decodes them first: they must be readable and keep
 * message id, business key and order key, because the markers protect those. The original is kept. The
 * business key is compared by the fixed content.
 */
export async function fixPayload<M, Tx>(
  pool: SqlPool,
  consumer: Consumer<M, Tx>,
  { id, body, because, dryRun }: PayloadFix,
  options: ActOptions = {},
): Promise<Fixed> {
  const row = await showParked(pool, id)
  if (row.consumer !== consumer.name || row.generation !== consumer.generation)
    throw refused(`Message ${id} is not of consumer "${consumer.name}" (generation ${consumer.generation}).`)
  const before = await readBody(pool, id)
  const delivery = deliveryOf(row, await readStoredHeaders(pool, id), body)
  const received = await createMessageReader(consumer)(delivery)
  assertSame(received, row)
  const fixed = {
    digestBefore: row.digest,
    digestAfter: received.digest.toString('hex'),
    diff: diffBodies(before, body),
    approval: null,
  }
  if (dryRun === true) return fixed
  const seen = createHash('sha256').update(before).digest()
  const keyDigest = received.readable ? received.businessDigest : null
  const values = [consumer.name, id, seen, body, received.digest, received.id, because, keyDigest]
  const { approval } = await act<{ approval: string | null }>(pool, acts.fixPayload, values, () =>
    (options.reach ?? inert)('parking.fixed'),
  )
  const digest = createHash('sha256').update(body).digest('hex')
  return { ...fixed, approval: approval === null ? null : { id: approval, digest } }
}

/**
 * Records another fix (a row, a setting, a deployment). The message is unchanged and may be redriven.
 */
export async function noteStateFixed(
  pool: SqlPool,
  { id, consumer, because }: { readonly id: string; readonly consumer: string; readonly because: string },
): Promise<void> {
  const seen = createHash('sha256')
    .update(await readBody(pool, id))
    .digest()
  await act(pool, acts.fixState, [consumer, id, seen, because])
}

function assertSame<M>(
  received: Received<M>,
  row: {
    readonly messageId: string | null
    readonly businessKey: string | null
    readonly key: string | null
  },
): void {
  if (!received.readable)
    throw refused(`The new payload cannot be read: ${received.problem.kind}, ${received.problem.text}.`)
  const { id, businessKey, orderKey } = received
  const differs = (what: string, is: string | null, was: string | null) => {
    if (was !== null && is !== was)
      throw refused(
        `The new payload has ${what} ${JSON.stringify(is)}, the original has ${JSON.stringify(was)}: a fix must keep it.`,
      )
  }
  differs('message id', id, row.messageId)
  differs('business key', businessKey, row.businessKey)
  differs('order key', orderKey, row.key)
}

function deliveryOf(
  row: { origin: string; position: string | null; brokerKey: string | null; deliveryCount: number },
  stored: { headers?: string; properties?: string },
  body: Buffer,
): Delivery {
  return {
    body,
    headers: fromStoredJson(stored.headers ?? '{}'),
    properties: fromStoredJson(stored.properties ?? '{}') as Delivery['properties'],
    origin: row.origin,
    position: row.position,
    partition: '',
    place: null,
    key: row.brokerKey,
    redelivered: true,
    deliveryCount: row.deliveryCount,
    token: null,
  }
}
