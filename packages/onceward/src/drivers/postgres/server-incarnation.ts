import { OncewardError } from '../../errors.ts'
import type { SqlClient } from './pool.ts'
import { isoTime } from './sql/iso-time.ts'

/** The answer of the server on a connection. Null for values that it hides. */
interface Found {
  readonly in_recovery: boolean
  readonly read_only: boolean
  readonly system_identifier: string | null
  readonly timeline: number | null
  readonly database_oid: number
  readonly flushed: string | null
  readonly open: string | null
  readonly known: boolean | null
}

/**
 * After a crash the log of a server may end before a half-written record; a difference of more than a segment
 * is another disk.
 */
const flushedMargin = 16n * 1024n * 1024n

/**
 * The incarnation of the server that this process works on. Checked on every new connection, at start, with
 * each heartbeat and after every outage; never by a batch.
 *
 *   the incarnation an operator accepted, and the one this process began on ──▶ continues
 *   a standby, or a timeline before the one this process has seen ──▶ `wrong_server`: not used, tried again
 *   anything else ──▶ recorded, `server_changed`: halts until an operator has accepted it
 */
export class ServerIncarnation {
  #seen: Pick<Found, 'system_identifier' | 'timeline'> | null = null
  #flushed = 0n

  async check(client: SqlClient): Promise<void> {
    // Answers may overtake each other: each is compared only with the state before its query.
    const flushedBefore = this.#flushed
    const found = await ask(client)
    if (found === null) return
    this.#assertUsable(found)
    const why = this.#change(found, flushedBefore)
    if (why !== null)
      throw serverChanged(await record(client, why, isSelfEvident(found) ? null : flushedBefore), why)
    if (this.#seen !== null && !this.#isSeen(found)) throw acceptedMeanwhile()
    this.#seen = {
      system_identifier: found.system_identifier ?? this.#seen?.system_identifier ?? null,
      timeline: found.timeline ?? this.#seen?.timeline ?? null,
    }
    const flushed = BigInt(found.flushed ?? 0)
    if (flushed > this.#flushed) this.#flushed = flushed
  }

  #assertUsable({ in_recovery, read_only, system_identifier, timeline }: Found): void {
    if (in_recovery || read_only)
      throw wrongServer(
        in_recovery ? 'is a standby' : 'is read-only (transaction_read_only)',
        'a replica may show older rows, or rows in another order, than the primary committed',
      )
    const seen = this.#seen
    if (seen === null || seen.system_identifier !== system_identifier) return
    if (timeline !== null && seen.timeline !== null && timeline < seen.timeline)
      throw wrongServer(
        `is on timeline ${timeline}, and this process has worked on timeline ${seen.timeline}`,
        'it was the primary before the failover, and writes to it will be lost',
      )
  }

  /** Values that the server hid, then or now, are not compared. */
  #isSeen({ system_identifier, timeline }: Found): boolean {
    const same = <T>(one: T | null, other: T | null) => one === null || other === null || one === other
    const seen = this.#seen
    return seen !== null && same(seen.system_identifier, system_identifier) && same(seen.timeline, timeline)
  }

  #change(found: Found, flushedBefore: bigint): string | null {
    const { open, known, flushed } = found
    if (open !== null) return 'it was detected before and no operator has accepted it'
    if (known === false) return 'the server, its timeline or the database differs from the one last accepted'
    if (this.#isSeen(found) && flushed !== null && BigInt(flushed) + flushedMargin < flushedBefore)
      return `the log of the server ends at ${flushed}, and this process has seen it at ${flushedBefore}`
    return null
  }
}

/** True if the change is visible without the history of this process. */
const isSelfEvident = ({ open, known }: Found) => open !== null || known === false

/** Null if the schema is missing or older: another check reports that. */
async function ask(client: SqlClient): Promise<Found | null> {
  try {
    const { rows } = await client.query(
      'select in_recovery, read_only, system_identifier, timeline, database_oid, flushed::text, open::text, known from onceward.server_check()',
    )
    return rows[0] as Found
  } catch (error) {
    if (['42883', '3F000', '42P01'].includes((error as { code?: string }).code ?? '')) return null
    throw error
  }
}

/**
 * Checks again in the statement that records the incarnation: behind a pooler with several hosts it may reach
 * another server than the first check, and a healthy server would halt every consumer. Two statements: the
 * one that inserts the row does not see it.
 */
async function record(client: SqlClient, why: string, flushedBefore: bigint | null) {
  const recorded = await client.query(
    `select onceward.record_incarnation($1)::text as id from onceward.server_check() c
     where c.open is not null or c.known is false or c.flushed + ${flushedMargin} < $2::numeric`,
    [why, flushedBefore === null ? null : String(flushedBefore)],
  )
  if (recorded.rows.length === 0)
    throw wrongServer(
      'differs from the one checked just before',
      'that one is not the incarnation last accepted',
    )
  const { rows } = await client.query(
    `select l.id::text, ${isoTime('l.complete_until')} as "survivedTo", ${isoTime('l.detected_at')} as "noticedAt"
     from onceward.server_incarnation l where l.id = $1`,
    [recorded.rows[0].id],
  )
  const { id, survivedTo, noticedAt } = rows[0] ?? {}
  return {
    id: id as string | undefined,
    survivedTo: survivedTo == null ? null : new Date(survivedTo),
    noticedAt: noticedAt === undefined ? undefined : new Date(noticedAt),
  }
}

function wrongServer(what: string, why: string): OncewardError {
  return new OncewardError(
    'wrong_server',
    `The connection leads to a server that ${what}: ${why}. It is not used; nothing was settled and nothing is lost. Point the address to the primary (target_session_attrs=read-write, or the name that your failover moves).`,
  )
}

/**
 * Messages in progress belong to the previous incarnation: only a new start reads from the position of this
 * one.
 */
function acceptedMeanwhile(): OncewardError {
  return new OncewardError(
    'server_changed',
    'This database is another incarnation than the one this process began on, and an operator has accepted it meanwhile. Nothing more was settled. Restart the process: it reads from the position of this incarnation.',
  )
}

function serverChanged(recorded: Awaited<ReturnType<typeof record>>, why: string): OncewardError {
  const since = recorded.survivedTo?.toISOString() ?? 'an unknown time'
  return new OncewardError(
    'server_changed',
    `This database is another incarnation than the one consumers worked on: ${why}. After a failover or a restore it may lack messages that were committed and settled after ${since}: queues no longer have them, and logs are past them. Nothing more was settled. Review the possible loss and continue with "onceward restore" and "onceward restore accept ${recorded.id ?? '<id>'} --because …".`,
    { details: { incarnation: recorded.id, survivedTo: recorded.survivedTo, noticedAt: recorded.noticedAt } },
  )
}
