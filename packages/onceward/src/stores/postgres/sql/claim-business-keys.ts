import type { BusinessAnswer, BusinessClaim, Enrolment } from '../../../contracts/store.ts'
import type { SqlClient } from '../pool.ts'
import { oneByOne } from './one-by-one.ts'

const insert = `
  insert into onceward.business_key (consumer_id, key, message_id, digest)
  select $1, claim.key, claim.message_id, claim.digest
  from unnest($2::text[], $3::text[], $4::bytea[]) as claim (key, message_id, digest)
  on conflict do nothing
  returning key`

const readBack = `
  select asked.key, message_id, digest
  from ${oneByOne('business_key', 'key', 'unnest($2::text[]) as asked (key)', 'message_id, digest')}`

const first: BusinessAnswer = { kind: 'first' }

/** As the markers: insert sorted, ignore conflicts, read the rest back in a second statement. */
export async function claimBusinessKeys(
  client: SqlClient,
  { consumerId }: Enrolment,
  claims: readonly BusinessClaim[],
): Promise<readonly BusinessAnswer[]> {
  const sorted = [...claims].sort((a, b) => (a.key < b.key ? -1 : 1))
  const { rows } = await client.query(insert, [
    consumerId,
    sorted.map(claim => claim.key),
    sorted.map(claim => claim.id),
    sorted.map(claim => claim.digest),
  ])
  if (rows.length === claims.length) return claims.map(() => first)

  const inserted = new Set(rows.map(row => row.key as string))
  const seen = await client.query(readBack, [
    consumerId,
    sorted.map(claim => claim.key).filter(key => !inserted.has(key)),
  ])
  const byKey = new Map(seen.rows.map(row => [row.key as string, row]))
  return claims.map(({ key, digest }) => {
    if (inserted.has(key)) return first
    const row = byKey.get(key)
    if (row === undefined)
      throw Object.assign(new Error(`business key ${key} vanished while claiming`), { code: '40001' })
    const sameDigest = digest === null || row.digest === null || digest.equals(row.digest)
    return { kind: 'seen', byId: row.message_id as string, sameDigest }
  })
}
