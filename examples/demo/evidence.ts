import { readFileSync } from 'node:fs'
import type { createPool } from 'onceward/postgres'
import type { BrokerOfRun } from './demo-broker.ts'
import type { GatewayCall } from './gateway.ts'
import type { PlannedMessage } from './plan.ts'
import type { DemoSettings } from './settings.ts'

export type SentMessage = Omit<PlannedMessage, 'body' | 'at'>

/** The evidence of a verdict: three independent records, and none of the engine's own counters. */
export interface Evidence {
  /** The producer's log. */
  readonly sent: readonly SentMessage[]
  /** The tables. Digests in hex. */
  readonly markers: readonly { readonly id: string; readonly digest: string; readonly status: string }[]
  readonly held: readonly { readonly digest: string; readonly state: string; readonly code: string }[]
  readonly captures: readonly { readonly capture: string; readonly amount: number; readonly id: string }[]
  readonly ledger: readonly { readonly key: string; readonly state: string; readonly attempts: number }[]
  readonly outbox: number
  readonly queued: number
  readonly deadLetterCopies: number
  /** The gateway's book. */
  readonly calls: readonly GatewayCall[]
}

export async function gatherEvidence(
  settings: DemoSettings,
  pool: ReturnType<typeof createPool>,
  broker: BrokerOfRun,
): Promise<Evidence> {
  const rowsOf = async (sql: string) => (await pool.query(sql)).rows
  // The first byte of a stored digest identifies its algorithm; the rest is plain SHA-256.
  const digest = `encode(substring(digest from 2), 'hex') as digest`
  const [outbox] = await rowsOf('select count(*)::int as rows from onceward.outbox')
  return {
    sent: readLines(settings.producerLog),
    markers: await rowsOf(`select message_id as id, ${digest}, status::text from onceward.inbox`),
    held: await rowsOf(`select ${digest}, state::text, code from onceward.held`),
    captures: await rowsOf(
      'select capture_request_id as capture, amount::float8 as amount, message_id as id from capture',
    ),
    ledger: await rowsOf('select effect_key as key, state::text, attempts from onceward.ledger'),
    outbox: outbox.rows,
    queued: await broker.depth(),
    deadLetterCopies: await broker.deadLetterCopies(),
    calls: readLines(settings.gatewayBook),
  }
}

function readLines<T>(file: string): T[] {
  const lines = readFileSync(file, 'utf8').split('\n')
  return lines.filter(line => line !== '').map(line => JSON.parse(line) as T)
}
