import { invariant } from '../../../errors.ts'
import type { Enrolment } from '../../../ports/enrolment.ts'
import type { MarkerAnswer, MarkerStatus, NewMarker } from '../../../ports/markers.ts'
import type { SqlClient } from '../pool.ts'
import { hashesOf, receiptColumns } from './keep-receipts.ts'
import { lookupByKey } from './lookup-by-key.ts'
import { packReceipts, type ReceiptOfMessage } from './pack-receipts.ts'
import { fromTextList, textList } from './text-list.ts'

/**
 * Returns one row for the whole batch, with the ids only if some were not inserted. A row each cost the
 * client as much as parsing the messages.
 */
const answered = (insert: string, beside = '') => `
  with claimed as (${insert} returning message_id)${beside}
  select count(*)::integer as count, case when count(*) < $2 then array_agg(message_id) end as ids from claimed`

/**
 * Digests are sent as one byte string, all of one width: as an array of texts they cost the client 1.7 us a
 * message more, and the insert a tenth.
 */
const digestOfClaim = 'substring($5::bytea from $4::integer * (claim.n::integer - 1) + 1 for $4::integer)'

/**
 * The receipts of the batch, in the same round trip and with the same time. Not written for a batch of
 * duplicates. Digests and receipts are in the order of the sorted ids.
 */
const receipts = (ids: string, first: number) => `,
  kept as (
    insert into onceward.receipt (${receiptColumns})
    select $1, current_setting('onceward.run')::integer, $2::integer, $${first}::json, $5, $${first + 1}::bytea,
      case when $${first + 2}::boolean then ${hashesOf(ids)} end
    where exists (select from claimed))`

const insert = (as: 'applied' | 'stored', ids: string, positions: string, withReceipts: boolean) =>
  answered(
    `
  insert into onceward.inbox (consumer_id, run_id, status, message_id, digest, position)
  select $1, current_setting('onceward.run')::integer, '${as}', claim.id, ${digestOfClaim}, claim.position
  from unnest(${ids}, ${positions}) with ordinality as claim (id, position, n)
  on conflict do nothing`,
    withReceipts ? receipts(ids, 7) : '',
  )

const insertWithoutPositions = (as: 'applied' | 'stored', withReceipts: boolean) =>
  answered(
    `
  insert into onceward.inbox (consumer_id, run_id, status, message_id, digest)
  select $1, current_setting('onceward.run')::integer, '${as}', claim.id, ${digestOfClaim}
  from unnest(${fromTextList('$3')}) with ordinality as claim (id, n)
  on conflict do nothing`,
    withReceipts ? receipts(fromTextList('$3'), 6) : '',
  )

const insertsAs = (as: 'applied' | 'stored', withReceipts: boolean) => ({
  plain: insertWithoutPositions(as, withReceipts),
  positioned: insert(as, fromTextList('$3'), fromTextList('$6'), withReceipts),
  arrays: insert(as, '$3::text[]', '$6::text[]', withReceipts),
})

const inserts = { applied: insertsAs('applied', false), stored: insertsAs('stored', false) }
const insertsWithReceipts = { applied: insertsAs('applied', true), stored: insertsAs('stored', true) }

/** A single message, the usual case under low load: planned and executed in half the time of the other. */
const insertOne = `
  insert into onceward.inbox (consumer_id, run_id, status, message_id, digest, position)
  values ($1, current_setting('onceward.run')::integer, $2, $3, $4, $5)
  on conflict do nothing`

const insertOneWithReceipt = `
  with claimed as (${insertOne} returning message_id),
  kept as (
    insert into onceward.receipt (${receiptColumns})
    select $1, current_setting('onceward.run')::integer, 1, $6::json, $4, $7::bytea,
      case when $8::boolean then array[hashtextextended(message_id, 0)] end
    from claimed)
  select count(*)::integer as count from claimed`

const readBack = `
  select asked.key as message_id, status::text as status, digest
  from ${lookupByKey('inbox', 'message_id', 'unnest($2::text[]) as asked (key)', 'status, digest')}`

/**
 * Fixed content is known under the id of the message as well. Read only if the content differs from the
 * marker.
 */
const fixes = `
  select message_id, digest_after as digest from onceward.fix where consumer_id = $1 and message_id = any($2::text[]) and kind = 'payload'`

const first: MarkerAnswer = { kind: 'first' }

/**
 * Insert first, sorted, so that two batches cannot deadlock. A conflicting insert waits for the end of the
 * other transaction. The read-back is a separate statement: inside the insert, under READ COMMITTED, it may
 * see no row for a key that just conflicted. The run is read from a setting local to the transaction, not
 * from a parameter: outside of the transaction the insert fails, so no marker can commit alone.
 */
export async function insertMarkers(
  client: SqlClient,
  { consumerId }: Enrolment,
  claims: readonly NewMarker[],
  as: 'applied' | 'stored' = 'applied',
): Promise<readonly MarkerAnswer[]> {
  if (claims.length === 1) return [await claimOne(client, consumerId, claims[0]!, as)]
  const sorted = [...claims].sort((a, b) => (a.id < b.id ? -1 : 1))
  const ids = sorted.map(claim => claim.id)
  const width = sorted[0]!.digest.length
  invariant(
    sorted.every(({ digest }) => digest.length === width),
    'digests of one width',
  )
  const digests = Buffer.concat(sorted.map(claim => claim.digest))
  const packed = receiptValues(sorted)
  const forms = packed === null ? inserts : insertsWithReceipts
  const { text, values } = chooseInsert(forms[as], ids, positionsOf(sorted))
  const { rows } = await client.query(text, [
    consumerId,
    ids.length,
    values[0],
    width,
    digests,
    ...values.slice(1),
    ...(packed ?? []),
  ])
  if (rows[0].count === claims.length) return claims.map(() => first)

  const inserted = new Set((rows[0].ids as string[] | null) ?? [])
  const rest = claims.filter(({ id }) => !inserted.has(id))
  const seen = await readMarkers(client, consumerId, rest)
  return claims.map(claim => seen.get(claim) ?? first)
}

/** The parameters of the receipts; null when the contract keeps none. */
function receiptValues(claims: readonly NewMarker[]): readonly unknown[] | null {
  if (claims[0]!.receipt === undefined) return null
  const { facts, payloads, isIndexed } = packReceipts(claims as readonly ReceiptOfMessage[])
  return [facts, payloads, isIndexed]
}

/** Null for queues, which have no positions. */
function positionsOf(claims: readonly NewMarker[]): readonly (string | null)[] | null {
  return claims.some(claim => claim.position !== null) ? claims.map(claim => claim.position) : null
}

function chooseInsert(
  { plain, positioned, arrays }: ReturnType<typeof insertsAs>,
  ids: readonly string[],
  positions: readonly (string | null)[] | null,
): { text: string; values: readonly unknown[] } {
  const idList = textList(ids)
  if (idList !== null && positions === null) return { text: plain, values: [idList] }
  const positionList = positions === null ? null : textList(positions)
  if (idList !== null && positionList !== null) return { text: positioned, values: [idList, positionList] }
  return { text: arrays, values: [ids, positions ?? ids.map(() => null)] }
}

async function claimOne(
  client: SqlClient,
  consumerId: number,
  claim: NewMarker,
  as: 'applied' | 'stored',
): Promise<MarkerAnswer> {
  const { id, digest, position } = claim
  const packed = receiptValues([claim])
  const values = [consumerId, as, id, digest, position]
  const inserted =
    packed === null
      ? (await client.query(insertOne, values)).rowCount
      : (await client.query(insertOneWithReceipt, [...values, ...packed])).rows[0].count
  if (inserted === 1) return first
  return (await readMarkers(client, consumerId, [claim])).get(claim)!
}

/** The existing markers of messages that were not inserted. */
async function readMarkers(
  client: SqlClient,
  consumerId: number,
  claims: readonly NewMarker[],
): Promise<ReadonlyMap<NewMarker, MarkerAnswer>> {
  const { rows } = await client.query(readBack, [consumerId, claims.map(({ id }) => id)])
  const byId = new Map(rows.map(row => [row.message_id as string, row]))
  const odd = claims.filter(({ id, digest }) => !digest.equals(byId.get(id)?.digest ?? digest))
  const fixed =
    odd.length === 0 ? [] : (await client.query(fixes, [consumerId, odd.map(claim => claim.id)])).rows
  const answers = new Map<NewMarker, MarkerAnswer>()
  for (const claim of claims) {
    const { id, digest, formerDigest } = claim
    const row = byId.get(id)
    // Removed between the two statements: its transaction was rolled back, or it was purged. A serialization
    // failure, which is retried.
    if (row === undefined)
      throw Object.assign(new Error(`marker ${id} vanished during the insert`), { code: '40001' })
    const sameDigest =
      digest.equals(row.digest) ||
      formerDigest?.equals(row.digest) === true ||
      fixed.some(fix => fix.message_id === id && digest.equals(fix.digest))
    answers.set(claim, { kind: 'seen', status: row.status as MarkerStatus, sameDigest })
  }
  return answers
}
