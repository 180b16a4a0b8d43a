import { createHash, randomBytes } from 'node:crypto'
import pg from 'pg'
import { migrate } from '../../src/drivers/postgres/migrate.ts'
import { migrations } from '../../src/drivers/postgres/migrations/index.ts'
import { createPool } from '../../src/drivers/postgres/pool.ts'
import { decoys, setOdd } from './odd-settings.ts'
import { postgresUrl } from './services.ts'

export interface TestDatabase {
  readonly url: string
  readonly name: string
  /**
   * Also ends the sessions that are still in it. Under the runner it does not wait: the server writes
   * everything it has to disk for each.
   */
  drop(): Promise<void>
}

/**
 * A fresh database of a random name with the schema in it, copied: to migrate each took four times as long.
 */
export async function createDatabase(): Promise<TestDatabase> {
  const database = await copySchema()
  // A copy is another life of the database: this one is to have begun here.
  await inside(
    database.url,
    'update onceward.server_incarnation set database_oid = (select oid from pg_database where datname = current_database())',
  )
  if (process.env.ONCEWARD_TEST_SETTINGS === 'odd') await makeOdd(database)
  return database
}

/** From now on its sessions are set to what nothing of ours may depend on. */
export async function makeOdd({ url, name }: TestDatabase): Promise<void> {
  await inside(url, `${decoys}; ${setOdd(name)}`)
}

/** Without the schema; in another encoding than the server's own where one is given. */
export const createEmptyDatabase = (encoding?: string): Promise<TestDatabase> =>
  create(encoding === undefined ? 'template1' : `template0 encoding '${encoding}' locale 'C'`)

async function copySchema(): Promise<TestDatabase> {
  template ??= ensureTemplate()
  try {
    return await create(await template)
  } catch (error) {
    // Dropped meanwhile by who has a newer schema on the same server.
    if ((error as { code?: string }).code !== '3D000') throw error
    template = ensureTemplate()
    return create(await template)
  }
}

async function create(from: string): Promise<TestDatabase> {
  const server = await postgresUrl()
  admin ??= openAdmin(server)
  const { pool, place } = await admin
  const name = `${process.env.ONCEWARD_TEST_DATABASES ?? 'test_'}${randomBytes(6).toString('hex')}`
  await pool.query(`create database ${name} template ${from}${place}`)
  return {
    url: at(server, name),
    name,
    async drop() {
      const gone = pool.query(`drop database if exists ${name} with (force)`)
      // What is left when the process ends is dropped by the runner.
      if (process.env.ONCEWARD_TEST_DATABASES === undefined) await gone
      else gone.catch(() => {})
    },
  }
}

let admin: ReturnType<typeof openAdmin> | undefined

/** Who creates and drops, and where. Nobody waits for an idle connection of it to end. */
async function openAdmin(server: string): Promise<{ pool: pg.Pool; place: string }> {
  const pool = new pg.Pool({ connectionString: server, max: 2, allowExitOnIdle: true })
  pool.on('error', () => {})
  const { rows } = await pool.query(
    `select from pg_tablespace where spcname = 'memory' and has_tablespace_privilege(spcname, 'create')`,
  )
  return { pool, place: rows.length > 0 ? ' tablespace memory' : '' }
}

let template: Promise<string> | undefined

/** One for all test processes of this schema; the first to come makes it. */
async function ensureTemplate(): Promise<string> {
  const server = await postgresUrl()
  const name = `onceward_schema_${createHash('sha256').update(JSON.stringify(migrations)).digest('hex').slice(0, 12)}`
  const client = new pg.Client(server)
  await client.connect()
  try {
    await client.query(`select pg_advisory_lock(hashtext('onceward test schema'))`)
    const { rows } = await client.query('select from pg_database where datname = $1', [name])
    if (rows.length === 0) await makeTemplate(client, server, name)
  } finally {
    await client.end()
  }
  return name
}

/** Of a schema that was worked on the day before. */
const outdated = `
  select datname as old from pg_database where starts_with(datname, 'onceward_schema_')
    and (pg_stat_file('base/' || oid || '/PG_VERSION')).modification < now() - interval '1 day'`

async function makeTemplate(client: pg.Client, server: string, name: string): Promise<void> {
  const { rows } = await client.query(outdated)
  for (const { old } of rows) await client.query(`drop database if exists ${old} with (force)`)
  const making = `${name}_new`
  await client.query(`drop database if exists ${making} with (force)`)
  await client.query(`create database ${making}`)
  const pool = createPool(at(server, making), { max: 1 })
  await migrate(pool).finally(() => pool.end())
  await client.query(`alter database ${making} rename to ${name}`)
}

function at(server: string, name: string): string {
  const url = new URL(server)
  url.pathname = `/${name}`
  return url.href
}

async function inside(url: string, sql: string): Promise<void> {
  const client = new pg.Client(url)
  await client.connect()
  try {
    await client.query(sql)
  } finally {
    await client.end()
  }
}
