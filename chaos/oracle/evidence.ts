import { existsSync, readFileSync } from 'node:fs'
import pg from 'pg'
import type { PlannedMessage } from '../plan/messages.ts'
import type { Halt } from '../processes/fleet.ts'
import { type GatewayCall, readBook } from '../processes/gateway.ts'
import type { ChaosSettings } from '../processes/settings.ts'
import type { Copy } from '../servers/broker.ts'

export type SentMessage = Omit<PlannedMessage, 'body'> & { readonly place: number }

export interface Application {
  readonly place: number
  readonly id: string
  readonly request: string
  readonly key: string
  readonly sequence: number
  readonly amount: number
}

/** What others than the library wrote down, and documented tables read by plain SQL. */
export interface Evidence {
  /** What the producer may have sent, and what the broker confirmed. */
  readonly sending: readonly SentMessage[]
  readonly confirmed: readonly SentMessage[]
  readonly applications: readonly Application[]
  readonly totals: readonly { readonly key: string; readonly amount: number; readonly times: number }[]
  readonly markers: readonly { readonly id: string; readonly status: string }[]
  /** Digests are of the bytes that are kept. */
  readonly held: readonly { readonly id: string | null; readonly digest: string; readonly state: string }[]
  readonly closed: readonly { readonly id: string | null; readonly digest: string }[]
  /** Why messages were set aside on their way. */
  readonly notes: readonly { readonly id: string; readonly code: string; readonly detail: string }[]
  readonly outbox: number
  readonly ledger: readonly { readonly id: string; readonly state: string }[]
  readonly calls: readonly GatewayCall[]
  /** Null while the run goes on: reading them takes them. */
  readonly copies: readonly Copy[] | null
  readonly deadLetters: readonly Copy[] | null
  /** Messages left at the source; null where only positions could say. */
  readonly depth: number | null
  readonly halts: readonly Halt[]
  /** Processes that did not end as asked. */
  readonly late: readonly string[]
  /** Old markers that retention was to remove. */
  readonly oldMarkers: number
}

export interface Seen {
  readonly copies: readonly Copy[] | null
  readonly deadLetters: readonly Copy[] | null
  readonly depth: number | null
  readonly halts: readonly Halt[]
  readonly late: readonly string[]
}

const sha = (body: string) => `encode(sha256(${body}), 'hex')`

export async function gatherEvidence(settings: ChaosSettings, seen: Seen): Promise<Evidence> {
  const client = new pg.Client({
    connectionString: settings.outside.databaseUrl,
    connectionTimeoutMillis: 10_000,
    query_timeout: 30_000,
  })
  client.on('error', () => {})
  await client.connect()
  const all = async (sql: string) => (await client.query(sql)).rows
  try {
    // One snapshot: a message moves between these tables meanwhile.
    await client.query('begin isolation level repeatable read read only')
    const old = `message_id like 'old-%'`
    const [{ outbox, oldMarkers }] = (await all(
      `select (select count(*)::int from onceward.outbox) as outbox,
         (select count(*)::int from onceward.inbox where ${old}) as "oldMarkers"`,
    )) as [{ outbox: number; oldMarkers: number }]
    return {
      ...readSendLog(settings.sendLog),
      applications: await all(
        'select place::int, message_id as id, request, key, sequence, amount from application order by place',
      ),
      totals: await all('select key, amount::float8 as amount, times from total'),
      markers: await all(`select message_id as id, status::text from onceward.inbox where not ${old}`),
      held: await all(`select message_id as id, ${sha('body')} as digest, state::text from onceward.held`),
      closed: await all(
        `select message_id as id, ${sha(`coalesce(body, '')`)} as digest from onceward.closed_held`,
      ),
      notes: await all('select message_id as id, code, detail from onceward.note'),
      outbox,
      oldMarkers,
      ledger: await all('select message_id as id, state::text from onceward.ledger'),
      calls: readBook(settings.gatewayBook),
      ...seen,
    }
  } finally {
    await client.end().catch(() => {})
  }
}

export function readSendLog(file: string): Pick<Evidence, 'sending' | 'confirmed'> {
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n') : []
  const all = lines
    .filter(line => line !== '')
    .map(line => JSON.parse(line) as SentMessage & { what: string })
  return {
    sending: all.filter(({ what }) => what === 'sending'),
    confirmed: all.filter(({ what }) => what === 'confirmed'),
  }
}
