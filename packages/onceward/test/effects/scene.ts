import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { until } from 'onceward/testing'
import { migrate } from '../../src/drivers/postgres/migrate.ts'
import { createPool, type SqlPool } from '../../src/drivers/postgres/pool.ts'
import { recordIntents } from '../../src/drivers/postgres/sql/record-intents.ts'
import { bytesDigest } from '../../src/message/digest.ts'
import type { Enrolment } from '../../src/ports/enrolment.ts'
import { createDatabase } from '../services/services.ts'

export interface LedgerRow {
  state: string
  epoch: number
  attempts: number
  due: string
  response_status: number | null
  response_digest: Buffer | null
  completed: boolean
  response_excerpt: string | null
  last_error: string | null
}

/** One database of its own with the schema, and the writers the consumers use. */
export async function openScene() {
  const database = await createDatabase()
  const pool = createPool(database.url)
  await migrate(pool)
  return {
    url: database.url,
    pool,
    async close() {
      await pool.end()
      await database.drop()
    },
    intend: (
      consumerName: string,
      keys: readonly string[],
      bodyOf?: (key: string) => string,
      target?: string,
    ) => intend(pool, consumerName, keys, bodyOf, target),
    async row(consumerName: string, key: string): Promise<LedgerRow> {
      const { rows } = await pool.query(
        `select state::text, epoch, attempts, due_at::text as due, response_status, response_digest,
           completed_at is not null as completed, response_excerpt, last_error
         from onceward.ledger where consumer_name = $1 and effect_key = $2`,
        [consumerName, key],
      )
      return rows[0]
    },
    async states(consumerName: string): Promise<Record<string, number>> {
      const { rows } = await pool.query(
        'select state::text, count(*)::int as n from onceward.ledger where consumer_name = $1 group by 1',
        [consumerName],
      )
      return Object.fromEntries(rows.map(row => [row.state, row.n]))
    },
  }
}

/** Records intents as a consumer does. */
export async function intend(
  pool: SqlPool,
  consumerName: string,
  keys: readonly string[],
  bodyOf = (key: string) => `{"capture":"${key}"}`,
  target = 'gateway',
): Promise<void> {
  const client = await pool.connect()
  const enrolment = { runId: 1, facts: { name: consumerName } } as Enrolment
  const intents = keys.map(key => {
    const body = Buffer.from(bodyOf(key))
    return {
      messageId: `m-${key}`,
      businessKey: null,
      effectType: 'http',
      target,
      key,
      body,
      contentType: 'application/json',
      digest: bytesDigest(body),
    }
  })
  await recordIntents(client, enrolment, intents)
  client.release()
}

export type Scene = Awaited<ReturnType<typeof openScene>>

export interface Child {
  readonly process: ChildProcess
  /** Resolves with the signal or code it ended by. */
  readonly ended: Promise<string>
  /** Resolves when it has printed this line. */
  said(line: string): Promise<void>
  /** Drains it, and answers with its tally. */
  drain(): Promise<Record<string, unknown>>
}

/** A dispatcher or relay in a process of its own, to be killed or frozen; `killAt` arms a crash point. */
export function startChild(options: Record<string, unknown>, file = 'effects-process.ts'): Child {
  const script = fileURLToPath(new URL(file, import.meta.url))
  const child = spawn(process.execPath, ['--conditions=@onceward/source', script, JSON.stringify(options)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let output = ''
  child.stdout!.setEncoding('utf8').on('data', text => {
    output += text
  })
  const ended = once(child, 'close').then(([code, signal]) => String(signal ?? code))
  return {
    process: child,
    ended,
    said: line => until(`the child says ${line}`, () => output.split('\n').includes(line)),
    async drain() {
      child.kill('SIGTERM')
      await ended
      return JSON.parse(output.slice(output.lastIndexOf('\n') + 1))
    },
  }
}

/** A pool whose statements fail as if the server were down, while `unavailable` is true. */
export function interruptible(pool: SqlPool): SqlPool & { unavailable: boolean; refused: number } {
  const gate = {
    unavailable: false,
    refused: 0,
    connect: () => (gate.unavailable ? refuse() : pool.connect()),
    query: (text: string, values?: unknown[]) => (gate.unavailable ? refuse() : pool.query(text, values)),
    end: () => pool.end(),
  }
  const refuse = () => {
    gate.refused++
    return Promise.reject(Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }))
  }
  return gate
}
