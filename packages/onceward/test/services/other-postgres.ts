import { execFileSync, spawn } from 'node:child_process'
import { chownSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { until } from 'onceward/testing'
import pg from 'pg'
import { installPostgres, type PostgresVersion } from '../../../../scripts/services/postgres-versions.ts'
import { unprivilegedUser } from '../../src/runtime/embedded/unprivileged-user.ts'
import { freePorts } from './free-ports.ts'

/** The programs of a version, or why they cannot be had here, as an option for a test. */
export async function programsOf(version: PostgresVersion): Promise<{ bin: string } | { skip: string }> {
  try {
    return { bin: await installPostgres(version, line => console.error(line)) }
  } catch (error) {
    return { skip: `PostgreSQL ${version} cannot be had: ${(error as Error).message.slice(0, 300)}` }
  }
}

/** Its data is not needed after a crash of the machine, and the disk is what these tests would wait for. */
const settings = [
  ...['fsync=off', 'full_page_writes=off'],
  ...['listen_addresses=127.0.0.1', 'unix_socket_directories=', 'max_connections=200'],
  ...['shared_buffers=128MB', 'wal_level=replica', 'max_wal_size=1GB'],
]

/** Statements of ours that the server compiled by JIT; the packaged servers have no JIT. */
async function compiledBy(url: string): Promise<readonly string[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query('create extension if not exists pg_stat_statements')
    const { rows } = await client.query(
      `select distinct left(query, 300) as text from pg_stat_statements where jit_functions > 0 and query like '%onceward.%'`,
    )
    return rows.map(({ text }) => text)
  } finally {
    await client.end()
  }
}

/** A server of the test's own, of another version than the shared one. */
export async function startPostgres(bin: string) {
  const user = unprivilegedUser()
  const folder = mkdtempSync(join(tmpdir(), 'onceward-version-'))
  const data = join(folder, 'data')
  mkdirSync(data, { mode: 0o700 })
  if (user) for (const path of [folder, data]) chownSync(path, user.uid, user.gid)
  const [port] = await freePorts(1)
  const options = ['-A', 'trust', '-U', 'postgres', '--encoding=UTF8', '--locale=C', '--no-sync']
  execFileSync(join(bin, 'initdb'), [...options, '-D', data], { ...user, cwd: folder, stdio: 'pipe' })
  const counts = existsSync(join(bin, '../lib/pg_stat_statements.so'))
  const preloaded = counts ? ['shared_preload_libraries=pg_stat_statements'] : []
  const given = [...settings, ...preloaded].flatMap(one => ['-c', one])
  const server = spawn(join(bin, 'postgres'), ['-D', data, '-p', String(port), ...given], {
    ...user,
    cwd: data,
    stdio: 'ignore',
  })
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`
  const ended = new Promise<void>(resolve => server.once('close', () => resolve()))
  const close = async () => {
    server.kill('SIGINT')
    await ended
    rmSync(folder, { recursive: true, force: true })
  }
  process.once('exit', () => server.kill('SIGKILL'))
  await until('the server answers', async () => {
    const client = new pg.Client({ connectionString: url })
    client.on('error', () => {})
    return client.connect().then(
      () => client.end().then(() => true),
      () => false,
    )
  })
  return { url, close, compiled: () => (counts ? compiledBy(url) : Promise.resolve([])) }
}
