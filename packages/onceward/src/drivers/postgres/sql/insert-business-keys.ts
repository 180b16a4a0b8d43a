import type { BusinessKeyAnswer, NewBusinessKey } from '../../../ports/business-keys.ts'
import type { Enrolment } from '../../../ports/enrolment.ts'
import type { MarkerStatus } from '../../../ports/markers.ts'
import type { SqlClient } from '../pool.ts'
import { lookupByKey } from './lookup-by-key.ts'

const insert = `
  insert into onceward.business_key (consumer_id, key, message_id, digest)
  select $1, claim.key, claim.message_id, claim.digest
  from unnest($2::text[], $3::text[], $4::bytea[]) as claim (key, message_id, digest)
  on conflict do nothing
  returning key`

const readBack = `
  select asked.key, found.message_id as "byId", found.digest, (
    select m.status::text from onceward.inbox m
    where m.consumer_id = $1 and m.message_id = found.message_id limit 1) as status, 0 as waiting
  from ${lookupByKey('business_key', 'key', 'unnest($2::text[]) as asked (key)', 'message_id, digest')}`

/**
 * The marker of a holder that is not done. A transaction that ends the holder moves its marker, waits for
 * this one, and then sees the messages that were stored to wait for it. The marker is locked, not the key: a
 * transaction that ends a message moves the marker first and the key second, and would deadlock.
 */
const lockHolders = `
  select 1 from (select key from unnest($2::text[]) as asked (key) order by key collate "C") asked
  cross join lateral (
    select from onceward.inbox m where m.consumer_id = $1 and m.message_id = asked.key limit 1 for share) held`

const readHeld = readBack.replace(
  '0 as waiting',
  `(select count(*)::integer from onceward.held w
    where w.consumer_id = $1 and w.business_key = asked.key and w.business_key is not null and w.keyless) as waiting`,
)

const first: BusinessKeyAnswer = { kind: 'first' }
const notDone: ReadonlySet<MarkerStatus | null> = new Set([
  'stored',
  'waiting',
  'parked',
  'dead',
  'quarantined',
])

interface Found {
  readonly key: string
  readonly byId: string
  readonly digest: Buffer | null
  readonly status: MarkerStatus | null
  readonly waiting: number
}

/** Like the markers: insert sorted, ignore conflicts, read the rest back in a second statement. */
export async function insertBusinessKeys(
  client: SqlClient,
  { consumerId }: Enrolment,
  claims: readonly NewBusinessKey[],
): Promise<readonly BusinessKeyAnswer[]> {
  const sorted = [...claims].sort((a, b) => (a.key < b.key ? -1 : 1))
  const { rows } = await client.query(insert, [
    consumerId,
    sorted.map(claim => claim.key),
    sorted.map(claim => claim.id),
    sorted.map(claim => claim.digest),
  ])
  if (rows.length === claims.length) return claims.map(() => first)

  const inserted = new Set(rows.map(row => row.key as string))
  const rest = sorted.filter(({ key }) => !inserted.has(key))
  const byKey = await readHolders(client, consumerId, rest)
  return claims.map(({ key, digest }) => {
    if (inserted.has(key)) return first
    const row = byKey.get(key)
    if (row === undefined) throw vanished(key)
    const { byId, status, waiting } = row
    const sameDigest = digest === null || row.digest === null || digest.equals(row.digest)
    return { kind: 'seen', byId, status, sameDigest, waiting }
  })
}

/**
 * The answer for a holder that is not done is read again under the lock on its marker: it may have ended
 * meanwhile.
 */
async function readHolders(
  client: SqlClient,
  consumerId: number,
  claims: readonly NewBusinessKey[],
): Promise<ReadonlyMap<string, Found>> {
  const keysOf = (rows: readonly Found[]) => new Map(rows.map(row => [row.key, row]))
  const found = keysOf((await client.query(readBack, [consumerId, claims.map(({ key }) => key)])).rows)
  const ownId = new Map(claims.map(({ key, id }) => [key, id]))
  const held = [...found.values()].filter(
    ({ key, byId, status }) => notDone.has(status) && byId !== ownId.get(key),
  )
  if (held.length === 0) return found
  await client.query(lockHolders, [consumerId, [...new Set(held.map(({ byId }) => byId))]])
  const again = keysOf((await client.query(readHeld, [consumerId, held.map(({ key }) => key)])).rows)
  for (const { key, byId } of held) {
    const row = again.get(key)
    if (row?.byId !== byId) throw vanished(key)
    found.set(key, row)
  }
  return found
}

/** Removed or passed on between two statements: a serialization failure, which is retried. */
function vanished(key: string): Error {
  return Object.assign(new Error(`business key ${key} changed hands during the insert`), { code: '40001' })
}
