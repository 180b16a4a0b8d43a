import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { OwnPool } from '../drivers/postgres/pool.ts'
import { errorText, OncewardError } from '../errors.ts'
import { ChildPool } from './child-pool.ts'
import { RunTurns } from './run-turns.ts'
import { ScratchDatabases } from './scratch-databases.ts'
import type { VerifyOptions } from './verify-options.ts'
import { openServer } from './verify-server.ts'

/** Everything that runs need and that is closed at the end. */
export interface OpenBench {
  readonly databases: ScratchDatabases
  readonly children: ChildPool
  readonly turns: RunTurns
  readonly stubPort: number
  readonly folder: string
  close(): Promise<void>
}

export async function openBench(options: VerifyOptions): Promise<OpenBench> {
  await using opened = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), 'onceward-verify-'))
  opened.defer(() => rm(folder, { recursive: true, force: true }))
  const children = new ChildPool(options.jobs ?? 2)
  opened.defer(() => children.close())
  const server = await openServer(options.databaseUrl)
  opened.defer(() => server.close())
  const databases = await ScratchDatabases.open(server, (url, pool) => prepare(options, url, pool))
  opened.defer(() => databases.close())
  const stub = createServer((request, response) => {
    request.resume().on('end', () => response.end('{}'))
  })
  await new Promise<void>(ready => stub.listen(0, '127.0.0.1', ready))
  opened.defer(() => {
    stub.close()
    stub.closeAllConnections()
  })
  const kept = opened.move()
  const { port } = stub.address() as AddressInfo
  return {
    databases,
    children,
    turns: new RunTurns(),
    stubPort: port,
    folder,
    close: () => kept.disposeAsync(),
  }
}

async function prepare(options: VerifyOptions, url: string, pool: OwnPool): Promise<void> {
  const { schema, migrate } = options
  if (schema !== undefined) await runSchema(schema, pool)
  if (migrate !== undefined) await runCommand(migrate, url)
  await options.prepare?.(pool)
}

async function runSchema(path: string, pool: OwnPool): Promise<void> {
  const text = await readFile(resolve(path), 'utf8').catch(error => {
    throw new OncewardError('usage', `The schema ${path} cannot be read: ${error.code}. Nothing was run.`)
  })
  // Commands of psql, such as \connect and \restrict, are not SQL.
  const sql = text.replaceAll(/^\\.*$/gm, '')
  await pool.query(sql).catch(cause => {
    throw new OncewardError(
      'usage',
      `The schema ${path} cannot be applied: ${errorText(cause)}. Nothing was run. Write a dump of the schema as plain SQL: pg_dump --schema-only --no-owner --exclude-schema=onceward.`,
      { cause },
    )
  })
  await pool.query('reset all')
}

async function runCommand(command: string, url: string): Promise<void> {
  const child = spawn(command, {
    shell: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ONCEWARD_DATABASE_URL: url, DATABASE_URL: url },
  })
  let said = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', chunk => {
      said = (said + chunk).slice(-1_000)
    })
  const [code] = await once(child, 'close')
  if (code === 0) return
  throw new OncewardError(
    'usage',
    `The migration command ended with ${code}: ${said.trim()}. Nothing was run. It gets the scratch database as ONCEWARD_DATABASE_URL and DATABASE_URL.`,
  )
}
