import { OncewardError } from '../../errors.ts'
import type { SqlClient, SqlPool } from './pool.ts'
import { roleSettings } from './role-settings.ts'

interface Notice {
  readonly message?: string | undefined
  readonly detail?: string | undefined
  /** The server function that raised the notice: the text is localised, and its SQLSTATE is not specific. */
  readonly routine?: string | undefined
}

/** Anything that emits the notices of a connection, as a client of `pg` does. */
export interface NoticeEmitter {
  on(event: 'notice', listener: (notice: Notice) => void): unknown
}

/** A pool of `pg` whose connections can be listened to. */
export interface AcquiringPool {
  on(event: 'acquire', listener: (client: NoticeEmitter) => void): unknown
}

/** The warnings received so far. */
interface Heard {
  count: number
  words: string
}

const byConnection = new WeakMap<object, Heard>()

/**
 * Listens for the warning of a COMMIT whose wait for the synchronous standby was cancelled. The returned
 * function throws if a warning arrived on this connection meanwhile: that commit is on this server and
 * perhaps on no other, and a failover would lose it. It is reported as a commit without an answer, so nothing
 * is settled until the batch has run again, which waits for `proveReplicated`.
 */
export function watchReplication(client: object): () => void {
  let heard = byConnection.get(client)
  if (heard === undefined) {
    heard = { count: 0, words: '' }
    byConnection.set(client, heard)
    listen(client as NoticeEmitter, heard)
  }
  return since(heard)
}

/**
 * The same over all connections of a pool, for libraries that do not expose the connection of a transaction.
 * A warning for another transaction makes this one run again; it then finds its own markers.
 */
export function watchPool(pool: AcquiringPool): { begin(): () => void; readonly acquired: number } {
  const heard: Heard = { count: 0, words: '' }
  const listening = new WeakSet<object>()
  let acquired = 0
  pool.on('acquire', client => {
    acquired++
    if (listening.has(client)) return
    listening.add(client)
    listen(client, heard)
  })
  return {
    begin: () => since(heard),
    get acquired() {
      return acquired
    },
  }
}

function listen(client: NoticeEmitter, heard: Heard): void {
  client.on('notice', ({ message = '', detail = '', routine }) => {
    if (routine !== 'SyncRepWaitForLSN') return
    heard.count++
    heard.words = `${message}. ${detail}`
  })
}

function since(heard: Heard): () => void {
  const before = heard.count
  return () => {
    if (heard.count !== before) throw notReplicated(heard.words)
  }
}

function notReplicated(words: string): OncewardError {
  return new OncewardError(
    'commit_not_confirmed',
    `COMMIT took effect on this server only: ${words} Nothing is settled until a later commit has reached the standby.`,
    { cause: Object.assign(new Error(words), { code: '57P03' }) },
  )
}

/**
 * A separate commit: when the standby has it, it has every earlier commit, including one whose answer was
 * lost while it waited. Without a synchronous standby this is only a small write. A port rejects if the
 * server warned.
 */
export async function proveReplicated(from: SqlClient | SqlPool): Promise<void> {
  const text = `select ${roleSettings}, pg_logical_emit_message(true, 'onceward', 'replicated')`
  if (!('connect' in from)) return void (await from.query(text))
  const client = await from.connect()
  let failed = true
  client.on('error', ignoreError)
  try {
    const assertReplicated = watchReplication(client)
    await client.query(text)
    assertReplicated()
    failed = false
  } finally {
    client.removeListener('error', ignoreError)
    client.release(failed)
  }
}

/** A lost connection also emits this event; without a listener it would end the process. */
function ignoreError(): void {}

/** Whether COMMIT waits for another server. */
export const waitsForStandby = `(current_setting('synchronous_standby_names') <> ''
  and current_setting('synchronous_commit') not in ('off', 'local'))`

/**
 * The server sends the warning only if client_min_messages permits it. A SET of another client of a pooler
 * has no influence: see `roleSettings`.
 */
export async function assertWarningsArrive(client: SqlClient): Promise<void> {
  const { rows } = await client.query(
    `select reset_val as level from pg_settings where name = 'client_min_messages'`,
  )
  const level = rows[0].level as string
  if (!['error', 'fatal', 'panic'].includes(level)) return
  throw new OncewardError(
    'configuration',
    `client_min_messages is ${level} on the connections to the database, so PostgreSQL would not report a commit that has not reached its synchronous standby. Nothing was started and nothing is lost. Set it to warning or lower for this role and database.`,
  )
}
