import { OncewardError } from '../../errors.ts'
import type { SqlClient } from './pool.ts'
import { isoTime } from './sql/iso-time.ts'

/** What the server answered on a connection. Null where it does not say. */
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
 * After a crash a server may end before the half of a record it had on disk; more than a segment is another
 * disk.
 */
const flushedMargin = 16n * 1024n * 1024n

/**
 * The life of the server as this process has seen it. Asked on every new connection, at start, with each sign
 * of life and after every outage; never by a batch.
 *
 *   the life a person accepted, and the one this process began on ──▶ goes on
 *   a standby, or a timeline before the one this process has seen ──▶ `wrong_server`: not used, tried again
 *   anything else ──▶ written down, `server_changed`: halts until a person has accepted it
 */
export class ServerLife {
  #seen: Pick<Found, 'system_identifier' | 'timeline'> | null = null
  #flushed = 0n

  async check(client: SqlClient): Promise<void> {
    // Answers may overtake each other: one is held only against what was known when it was asked for.
    const flushedBefore = this.#flushed
    const found = await ask(client)
    if (found === null) return
    this.#assertUsable(found)
    const why = this.#change(found, flushedBefore)
    if (why !== null)
      throw serverChanged(await notice(client, why, saidBySelf(found) ? null : flushedBefore), why)
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
        in_recovery ? 'is a standby' : 'takes no writes (transaction_read_only)',
        'what a replica shows may be older, or in another order, than what was committed',
      )
    const seen = this.#seen
    if (seen === null || seen.system_identifier !== system_identifier) return
    if (timeline !== null && seen.timeline !== null && timeline < seen.timeline)
      throw wrongServer(
        `is on timeline ${timeline}, and this process has worked on timeline ${seen.timeline}`,
        'it is a primary of before the failover, and what is written there will be lost',
      )
  }

  /** What the server did not say, then or now, is not compared. */
  #isSeen({ system_identifier, timeline }: Found): boolean {
    const same = <T>(one: T | null, other: T | null) => one === null || other === null || one === other
    const seen = this.#seen
    return seen !== null && same(seen.system_identifier, system_identifier) && same(seen.timeline, timeline)
  }

  #change(found: Found, flushedBefore: bigint): string | null {
    const { open, known, flushed } = found
    if (open !== null) return 'it was noticed before and nobody has accepted it'
    if (known === false)
      return 'the server, its timeline or the database is another than the one last accepted'
    if (this.#isSeen(found) && flushed !== null && BigInt(flushed) + flushedMargin < flushedBefore)
      return `the log of the server ends at ${flushed}, and this process has seen it at ${flushedBefore}`
    return null
  }
}

/** It needs no comparison with what this process has seen. */
const saidBySelf = ({ open, known }: Found) => open !== null || known === false

/** Null where the schema is missing or older: that is somebody else's to say. */
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
 * Looks again in the statement that writes it down: behind a pooler with several hosts it may reach another
 * server than the look before, and a healthy one would halt every consumer. Two statements: the one that
 * writes the row down does not see it.
 */
async function notice(client: SqlClient, why: string, flushedBefore: bigint | null) {
  const noticed = await client.query(
    `select onceward.record_incarnation($1)::text as id from onceward.server_check() c
     where c.open is not null or c.known is false or c.flushed + ${flushedMargin} < $2::numeric`,
    [why, flushedBefore === null ? null : String(flushedBefore)],
  )
  if (noticed.rows.length === 0)
    throw wrongServer('is another than the one asked just before', 'that one is not the copy last accepted')
  const { rows } = await client.query(
    `select l.id::text, ${isoTime('l.complete_until')} as "survivedTo", ${isoTime('l.detected_at')} as "noticedAt"
     from onceward.server_incarnation l where l.id = $1`,
    [noticed.rows[0].id],
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
    `The connection leads to a server that ${what}: ${why}. Nothing is decided there; nothing was settled and nothing is lost. Let the address lead to the primary (target_session_attrs=read-write, or the name your failover moves).`,
  )
}

/** What it has in hand belongs to the life before: only a new start reads from where this one stands. */
function acceptedMeanwhile(): OncewardError {
  return new OncewardError(
    'server_changed',
    'This database is another copy than the one this process began on, and a person has accepted it meanwhile. Nothing more was settled. Start again: reading begins where this copy stands.',
  )
}

function serverChanged(life: Awaited<ReturnType<typeof notice>>, why: string): OncewardError {
  const since = life.survivedTo?.toISOString() ?? 'an unknown time'
  return new OncewardError(
    'server_changed',
    `This database is another copy than the one consumers worked on: ${why}. After a failover or a restore it may lack what was committed and settled after ${since}: such messages are gone from queues, and logs stand behind them. Nothing more was settled. See what may be lost, and go on, with "onceward restore" and "onceward restore accept ${life.id ?? '<number>'} --because …".`,
    { details: { life: life.id, survivedTo: life.survivedTo, noticedAt: life.noticedAt } },
  )
}
