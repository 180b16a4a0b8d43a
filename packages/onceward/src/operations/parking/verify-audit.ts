import { createHash } from 'node:crypto'
import { assertUsable } from '../../drivers/postgres/assert-usable.ts'
import {
  type AuditFilter,
  type AuditRow,
  type ChainedRow,
  readAudit,
  readAuditHead,
  readAuditPage,
} from '../../drivers/postgres/audit/read-audit.ts'
import type { SqlPool } from '../../drivers/postgres/pool.ts'

export interface AuditProblem {
  readonly seq: string
  readonly what: 'changed' | 'missing' | 'inserted' | 'head' | 'anchor'
  readonly text: string
}

export interface AuditVerdict {
  readonly rows: number
  /**
   * Hash of the last row. Kept outside the database, it proves later that no earlier row was changed, removed
   * or rewritten.
   */
  readonly head: string
  readonly problems: readonly AuditProblem[]
}

/** Newest first. */
export async function listAudit(pool: SqlPool, filter: AuditFilter): Promise<readonly AuditRow[]> {
  await assertUsable(pool)
  return readAudit(pool, filter)
}

/**
 * Reads the whole chain and computes every hash in this process, without trusting functions of the database.
 * `expected`: the head of an earlier verification, which must be among the hashes.
 */
export async function verifyAudit(pool: SqlPool, expected?: string): Promise<AuditVerdict> {
  await assertUsable(pool)
  const problems: AuditProblem[] = []
  let [seq, hash, rows] = [0n, '', 0]
  let anchored = expected === undefined || expected === ''
  for (;;) {
    const found = await readAuditPage(pool, seq)
    if (found.length === 0) break
    for (const row of found) {
      problems.push(...problemsOf(row, seq, hash))
      ;[seq, hash] = [BigInt(row.seq), row.hash]
      rows++
      anchored ||= row.hash === expected
    }
  }
  const known = await readAuditHead(pool)
  if (known === undefined || known.seq !== String(seq) || known.hash !== hash)
    problems.push({
      seq: known?.seq ?? '0',
      what: 'head',
      text: `the chain ends at row ${seq}, but its head is ${known === undefined ? 'missing' : `row ${known.seq}`}: rows were removed or appended`,
    })
  if (!anchored)
    problems.push({
      seq: String(seq),
      what: 'anchor',
      text: `no row has the hash ${expected}: this is not the chain of that head`,
    })
  return { rows, head: hash, problems }
}

function problemsOf(row: ChainedRow, before: bigint, hash: string): AuditProblem[] {
  const at = BigInt(row.seq)
  const found: AuditProblem[] = []
  const note = (what: AuditProblem['what'], text: string) => found.push({ seq: row.seq, what, text })
  if (at !== before + 1n)
    note('missing', `row ${before + 1n}${at - before > 2n ? ` to ${at - 1n}` : ''} is missing`)
  else if (row.previous !== hash) note('inserted', `row ${row.seq} does not follow the row before it`)
  if (hashOf(row) !== row.hash) note('changed', `row ${row.seq} was changed after it was written`)
  return found
}

function hashOf(row: ChainedRow): string {
  const { seq, at, actor, action, outcome, consumer, subject, reason, detail } = row
  const fields = [seq, at, actor, action, outcome, consumer, subject, reason, detail]
  const content = fields
    .map(field => (field === null ? '-,' : `${Buffer.byteLength(field)}:${field},`))
    .join('')
  return createHash('sha256').update(Buffer.from(row.previous, 'hex')).update(content).digest('hex')
}
