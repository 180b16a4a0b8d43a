import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { errorCode, OncewardError } from '../errors.ts'
import { createPool } from '../postgres.ts'
import type { Log } from '../surroundings.ts'
import { consoleLog } from './output.ts'

export interface Database {
  readonly url: string
  readonly embedded: boolean
  /** Stops the embedded server, if this process started it. */
  close(): Promise<void>
}

/** The database named by the environment. Addresses carry secrets, so never argv. */
export function databaseAddress(): string | undefined {
  const url = process.env.ONCEWARD_DATABASE_URL ?? fromFile(process.env.ONCEWARD_DATABASE_URL_FILE)
  if (url === undefined) return url
  if (!/^postgres(ql)?:\/\//.test(url))
    throw new OncewardError(
      'configuration',
      'ONCEWARD_DATABASE_URL must begin with postgres://. Nothing was started.',
    )
  if (URL.parse(url) !== null) return url
  throw new OncewardError(
    'configuration',
    'ONCEWARD_DATABASE_URL cannot be read: is the port a number, and are characters such as / or # in the password written as %2F and %23? Nothing was started.',
  )
}

/** The database named by the environment, or the embedded one in `.onceward/`. */
export async function openDatabase(log: Log): Promise<Database> {
  const url = databaseAddress()
  if (url !== undefined) return { url, embedded: false, close: () => Promise.resolve() }
  const { startEmbeddedPostgres } = await import('../embedded/index.ts')
  const server = await startEmbeddedPostgres({ dataDir: join(process.cwd(), '.onceward', 'postgres') })
  log.info('embedded PostgreSQL', { port: server.port })
  // One that ran already belongs to another command, a consumer most likely, which would lose its database.
  const close = () => (server.reused ? Promise.resolve() : server.stop())
  return { url: server.url, embedded: true, close }
}

/** For commands that look at the database or change a row of it. */
export async function withPool(
  json: boolean,
  work: (pool: ReturnType<typeof createPool>) => Promise<void>,
): Promise<void> {
  const database = await openDatabase(consoleLog(json))
  const pool = createPool(database.url, { max: 1 })
  try {
    await work(pool)
  } finally {
    await pool.end()
    await database.close()
  }
}

function fromFile(path: string | undefined): string | undefined {
  if (path === undefined) return undefined
  try {
    return readFileSync(path, 'utf8').trim()
  } catch (cause) {
    throw new OncewardError(
      'configuration',
      `ONCEWARD_DATABASE_URL_FILE cannot be read: ${errorCode(cause)}. Nothing was started.`,
      { cause },
    )
  }
}
