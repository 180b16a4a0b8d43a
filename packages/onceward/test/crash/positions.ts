import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import type { createPool } from 'onceward/postgres'
import type { LoggedRecord, TestLog } from './brokers.ts'

type Pool = ReturnType<typeof createPool>
type Positions = ReadonlyMap<string, number>

/** Records at or after their partition's position. */
export function unread(records: readonly LoggedRecord[], positions: Positions): LoggedRecord[] {
  return records.filter(({ partition, offset }) => offset >= (positions.get(partition) ?? 0))
}

/**
 * The position never leads the effects: whatever it has passed has an outcome. Positions are read first and
 * outcomes afterwards, so that a sample taken while consumers run can only be too kind to the position by
 * what was decided in between, never too strict.
 */
export async function assertNothingSkipped(pool: Pool, log: TestLog): Promise<void> {
  const told = await log.told()
  const stored = await storedPositions(pool)
  const known = await outcomes(pool)
  for (const [keeper, positions] of [['the broker', told] as const, ['the store', stored] as const]) {
    const skipped = log.records.filter(
      ({ partition, offset, produced }) => offset < (positions.get(partition) ?? 0) && !known(produced),
    )
    assert.deepEqual(
      skipped.map(({ partition, offset, produced }) => `${partition}@${offset} ${produced.body}`),
      [],
      `${keeper} stands past records without an outcome: ${JSON.stringify([...positions])}`,
    )
  }
}

export async function storedPositions(pool: Pool): Promise<Positions> {
  const { rows } = await pool.query('select partition, next from onceward.checkpoint where next is not null')
  return new Map(rows.map(row => [row.partition as string, Number(row.next)]))
}

/**
 * Applied with these very bytes, or set aside with them. Where there are no markers the effect itself is
 * asked.
 */
async function outcomes(pool: Pool): Promise<(message: { id: string | null; body: string }) => boolean> {
  // Before what is applied: stored work goes from the one to the other meanwhile.
  const { rows: held } = await pool.query(`select encode(sha256(body), 'hex') as digest from onceward.held`)
  const { rows: applied } = await pool.query(
    `select id, encode(substring(digest from 2), 'hex') as digest
     from effect left join onceward.inbox on message_id = id and status = 'applied'`,
  )
  const digestOf = new Map(applied.map(row => [row.id as string | null, row.digest as string | null]))
  const setAside = new Set(held.map(row => row.digest as string))
  return ({ id, body }) => {
    const digest = createHash('sha256').update(body).digest('hex')
    return setAside.has(digest) || (digestOf.has(id) && (digestOf.get(id) ?? digest) === digest)
  }
}
