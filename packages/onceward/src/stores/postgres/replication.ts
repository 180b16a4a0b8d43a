import { OncewardError } from '../../errors.ts'
import type { PooledClient, SqlClient, SqlPool } from './pool.ts'

interface Notice {
  readonly message?: string
  readonly detail?: string
  /** The function of the server that spoke: the words come in the server's language, and their number says nothing. */
  readonly routine?: string
}

const watched = new WeakSet<object>()
const doubtful = new WeakMap<object, string>()

/** Once per connection: hears the warning that comes beside a COMMIT whose wait for the synchronous standby somebody ended. */
export function watchReplication(client: PooledClient): void {
  if (watched.has(client)) return
  watched.add(client)
  const emitter = client as unknown as { on(event: 'notice', listener: (notice: Notice) => void): void }
  emitter.on('notice', ({ message = '', detail = '', routine }) => {
    if (routine === 'SyncRepWaitForLSN') doubtful.set(client, `${message}. ${detail}`)
  })
}

/**
 * Committed here and perhaps nowhere else: a failover now would lose it. Told as a commit without an answer, so that nothing is settled until
 * the batch has been run again, and that waits for `proveReplicated`.
 */
export function assertReplicated(client: object): void {
  const words = doubtful.get(client)
  if (words === undefined) return
  doubtful.delete(client)
  throw new OncewardError(
    'commit_not_confirmed',
    `COMMIT took on this server only: ${words} Nothing is settled until a later commit has reached the standby.`,
    { cause: Object.assign(new Error(words), { code: '57P03' }) },
  )
}

/**
 * A commit of its own: when the standby has it, it has everything before it, a commit included whose answer was lost while it waited. Where
 * there is no synchronous standby this is a small write and nothing else.
 */
export async function proveReplicated(from: SqlClient | SqlPool): Promise<void> {
  const text = `select pg_logical_emit_message(true, 'onceward', 'replicated')`
  if (!('connect' in from)) return void (await from.query(text))
  const client = await from.connect()
  let failed = true
  client.on('error', heardFromTheStatement)
  try {
    watchReplication(client)
    await client.query(text)
    assertReplicated(client)
    failed = false
  } finally {
    client.removeListener('error', heardFromTheStatement)
    client.release(failed)
  }
}

/** A dying connection also emits this, and without a listener that would end the process. */
function heardFromTheStatement(): void {}
