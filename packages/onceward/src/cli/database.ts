import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Log } from '../environment.ts'
import { errorCode, OncewardError } from '../errors.ts'
import { type createPool, migrate } from '../postgres.ts'
import { environmentName } from '../runtime/addresses.ts'
import { withGuardedPool } from '../runtime/guarded-pool.ts'
import { embeddedMark } from './init/embedded-mark.ts'
import { consoleLog } from './output.ts'

export interface Database {
  readonly url: string
  /** Stops the embedded server, if this process started it. */
  close(): Promise<void>
}

type Pool = ReturnType<typeof createPool>

const dataFolder = () => join(process.cwd(), '.onceward', 'postgres')

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
    'ONCEWARD_DATABASE_URL is not a valid URL. Check that the port is a number and that characters such as / or # in the password are written as %2F and %23. Nothing was started.',
  )
}

/**
 * For `run` and `relay`. Messages are acknowledged once they are in this database, so an embedded one is
 * started only on request: by `--embedded`, or by `onceward init` for this folder.
 */
export async function openDatabase(log: Log, { embedded = false } = {}): Promise<Database> {
  const url = databaseAddress()
  if (url !== undefined && embedded) throw twoDatabases()
  if (url !== undefined) return { url, close: () => Promise.resolve() }
  if (!embedded && !existsSync(join(process.cwd(), embeddedMark))) throw noDatabase()
  const { startEmbeddedPostgres } = await import('../runtime/embedded/index.ts')
  const server = await startEmbeddedPostgres({ dataDir: dataFolder() })
  log.info('embedded PostgreSQL', { port: server.port })
  // A server that was already running belongs to another command, most likely a consumer.
  const close = () => (server.reused ? Promise.resolve() : server.stop())
  await withGuardedPool(server.url, migrateSchema, { migrates: true }).catch(async error => {
    await close()
    throw error
  })
  return { url: server.url, close }
}

const migrateSchema = async (pool: Pool) => void (await migrate(pool, { environment: environmentName() }))

/**
 * For every other command: the database of the environment, or the embedded server that runs in this folder.
 * Starts none.
 */
export async function attachDatabase(log: Log): Promise<Pick<Database, 'url'>> {
  const url = databaseAddress()
  if (url !== undefined) return { url }
  const { findEmbeddedPostgres } = await import('../runtime/embedded/index.ts')
  const server = await findEmbeddedPostgres(dataFolder())
  if (server === null) throw noServer()
  log.info('embedded PostgreSQL', { port: server.port })
  return server
}

/** For commands that read the database or change rows of it. */
export async function withPool(
  json: boolean,
  work: (pool: Pool) => Promise<void>,
  options: { readonly migrates?: boolean } = {},
): Promise<void> {
  const { url } = await attachDatabase(consoleLog(json))
  await withGuardedPool(url, work, options)
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

function noDatabase(): OncewardError {
  return new OncewardError(
    'configuration',
    'ONCEWARD_DATABASE_URL is not set. Nothing was started. Set it, or pass --embedded to use a PostgreSQL server of this folder (.onceward/postgres), for evaluation only.',
  )
}

function twoDatabases(): OncewardError {
  return new OncewardError(
    'usage',
    'ONCEWARD_DATABASE_URL and --embedded name two databases. Nothing was started. Unset the variable or omit --embedded.',
  )
}

function noServer(): OncewardError {
  return new OncewardError(
    'configuration',
    'ONCEWARD_DATABASE_URL is not set, and no embedded PostgreSQL runs in .onceward/ of this folder. No database was queried. Set the variable, or start the consumer of this folder first.',
  )
}
