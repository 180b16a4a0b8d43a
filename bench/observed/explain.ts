import { createHash } from 'node:crypto'
import { explain } from '../../packages/onceward/src/evidence/explain.ts'
import type { ExplainQuestion } from '../../packages/onceward/src/evidence/explanation.ts'
import { median } from '../median.ts'
import type { PreparedPlace } from '../place.ts'

/** How long "why does this exist?" takes over few and over many rows. */
export interface Explained {
  readonly few: number
  readonly many: number
  /** Milliseconds, median. */
  readonly asked: readonly { readonly by: string; readonly fewMs: number; readonly manyMs: number }[]
}

const few = 10_000
const questions = 150
const idOf = (n: number) => createHash('md5').update(String(n)).digest('hex')

/**
 * Markers of which every tenth has a business key, and every tenth an effect outside; a hundredth failed
 * before.
 */
export async function measureExplain(
  { pool }: PreparedPlace,
  { explainRows }: { readonly explainRows: number },
  say: (line: string) => void,
): Promise<Explained> {
  const { rows } = await pool.query(
    `insert into onceward.consumer (name, generation, owner, risk) values ('explained', 1, 'bench', 'money') returning id`,
  )
  const run = await pool.query(
    `insert into onceward.run (consumer_id, instance, handler_version, mode) values ($1, 'bench', '1', 'live') returning id`,
    [rows[0].id],
  )
  const consumer = { id: rows[0].id as number, run: run.rows[0].id as number }
  await fill(pool, consumer, 0, few)
  // The first questions find code that was never run.
  await ask(pool, few)
  const small = await ask(pool, few)
  say(`writing ${explainRows.toLocaleString('en-US')} markers`)
  await fill(pool, consumer, few, explainRows)
  const large = await ask(pool, explainRows)
  const asked = [...small].map(([by, fewMs]) => ({ by, fewMs, manyMs: large.get(by)! }))
  for (const { by, fewMs, manyMs } of asked)
    say(`by ${by}: ${fewMs.toFixed(2)} ms over few, ${manyMs.toFixed(2)} ms over many`)
  return { few, many: explainRows, asked }
}

type Pool = PreparedPlace['pool']

const step = 500_000

async function fill(
  pool: Pool,
  { id, run }: { readonly id: number; readonly run: number },
  from: number,
  to: number,
): Promise<void> {
  // One by one into the index, ten million random ids would take longer than everything else.
  if (to - from > step) await pool.query('alter table onceward.inbox drop constraint inbox_pkey')
  const at = `now() - interval '20 days' + n * interval '0.1 second'`
  for (let first = from; first < to; first += step) {
    const some = `generate_series(${first + 1}, ${Math.min(to, first + step)}) n`
    await pool.query(`insert into onceward.inbox (consumer_id, run_id, at, status, message_id, digest)
      select ${id}, ${run}, ${at}, 'applied', md5(n::text), decode(repeat('ab', 32), 'hex') from ${some}`)
    await pool.query(`insert into onceward.business_key (consumer_id, at, key, message_id)
      select ${id}, ${at}, 'key-' || n, md5(n::text) from ${some} where n % 10 = 0`)
    await pool.query(`insert into onceward.ledger
        (consumer_name, target, effect_key, state, created_at, completed_at, run_id, message_id, request_digest, content_type, body)
      select 'explained', 'gateway', 'effect-' || n, 'completed', ${at}, ${at}, ${run}, md5(n::text), '', 'text/plain', '' from ${some}
      where n % 10 = 0 order by n`)
    await pool.query(`insert into onceward.attempt (consumer_id, message_id, number, run_id, at, failure_class, code, error)
      select ${id}, md5(n::text), 1, ${run}, ${at}, 'transient', 'E', 'no answer' from ${some} where n % 100 = 0`)
  }
  if (to - from > step)
    await pool.query(
      'alter table onceward.inbox add constraint inbox_pkey primary key (consumer_id, message_id)',
    )
  await pool.query('vacuum analyze onceward.inbox, onceward.business_key, onceward.ledger, onceward.attempt')
  await pool.query('checkpoint')
}

async function ask(pool: Pool, rows: number): Promise<Map<string, number>> {
  const kinds: Record<string, (n: number) => ExplainQuestion> = {
    message: n => ({ by: 'message', id: idOf(n) }),
    'message that never came': n => ({ by: 'message', id: `none-${n}` }),
    'business key': n => ({ by: 'business key', key: `key-${n}` }),
    effect: n => ({ by: 'effect', key: `effect-${n}`, target: null }),
  }
  const medians = new Map<string, number>()
  for (const [by, questionOf] of Object.entries(kinds)) {
    const times: number[] = []
    for (let asked = 0; asked < questions; asked++) {
      // Every tenth has everything; spread over all of them.
      const n = Math.max(10, Math.floor((rows * (asked + 0.5)) / questions / 10) * 10)
      const began = performance.now()
      const { stories } = await explain(pool, questionOf(n))
      times.push(performance.now() - began)
      if (stories.length !== (by === 'message that never came' ? 0 : 1))
        throw new Error(`by ${by}: ${n} was not found`)
    }
    medians.set(by, median(times))
  }
  return medians
}
