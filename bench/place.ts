import { isDeepStrictEqual } from 'node:util'
import { connect } from 'amqplib'
import { createPool, migrate } from 'onceward/postgres'
import pg from 'pg'
import { ensureServices, type ServiceName } from '../scripts/services/services.ts'
import { FilledLogs } from './logs/filled-log.ts'
import { openKafkaLogs } from './logs/kafka.ts'
import { openStreamLogs } from './logs/stream.ts'
import { keyCount, sumOf } from './workload.ts'

/** Where one run happens: its own database on the shared server, and its own queues. */
export interface Place {
  readonly databaseUrl: string
  readonly rabbitmqUrl: string | null
  readonly streamUrl: string | null
  readonly kafkaBootstrap: string | null
}

/** For a process of its own. */
export function placeText({ databaseUrl, rabbitmqUrl, streamUrl, kafkaBootstrap }: Place): string {
  return JSON.stringify({ databaseUrl, rabbitmqUrl, streamUrl, kafkaBootstrap } satisfies Place)
}

export interface PreparedPlace extends Place {
  readonly pool: pg.Pool
  /** Topics and streams of this run. */
  readonly logs: { readonly kafka: FilledLogs | null; readonly stream: FilledLogs | null }
  /** Empties inbox and counters and lets the server write everything out, so that all begin alike. */
  reset(): Promise<void>
  /**
   * Throws unless the counters prove that each of `count` messages took effect once, and as many markers are
   * there as should.
   */
  verify(who: string, count: number, markers?: number): Promise<void>
  drop(): Promise<void>
}

/** What the effects and the inboxes by hand write to. */
export const tables = `
  create table bench_inbox (
    consumer integer not null,
    at       timestamptz not null default now(),
    id       text collate "C" not null,
    digest   bytea not null,
    primary key (consumer, id)
  );
  create table bench_checkpoint (partition integer primary key, epoch integer not null, next bigint not null);
  create table counter (key integer primary key, total bigint not null default 0);
  create table commit_probe (id integer primary key, at timestamptz not null default now())`

let databases = 0

/** On the services' own PostgreSQL, or on another server. */
export async function preparePlace(
  names: readonly ServiceName[],
  postgresUrl?: string,
): Promise<PreparedPlace> {
  const services = await ensureServices(names, { log: line => process.stderr.write(`${line}\n`) })
  const urls = new Map(services.map(service => [service.name, 'unavailable' in service ? null : service.url]))
  for (const service of services) {
    if ('unavailable' in service) throw new Error(`${service.name} is needed but ${service.unavailable}`)
  }
  const adminUrl = postgresUrl ?? urls.get('postgres')!
  const database = `onceward_bench_${process.pid}_${++databases}`
  await withClient(adminUrl, client => client.query(`create database ${database}`))
  const databaseUrl = Object.assign(new URL(adminUrl), { pathname: `/${database}` }).href
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 4 })
  const schemaPool = createPool(databaseUrl, { max: 1 })
  await migrate(schemaPool)
  await schemaPool.end()
  await pool.query(tables)
  await assertDurable(pool)
  const streamUrl =
    services.flatMap(service => ('streamUrl' in service ? service.streamUrl : [])).at(0) ?? null
  const kafkaBootstrap = urls.get('kafka') ?? null
  const logs = {
    kafka: kafkaBootstrap === null ? null : new FilledLogs('kafka', openKafkaLogs(kafkaBootstrap)),
    stream: streamUrl === null ? null : new FilledLogs('stream', openStreamLogs(streamUrl)),
  }
  return {
    databaseUrl,
    rabbitmqUrl: urls.get('rabbitmq') ?? null,
    streamUrl,
    kafkaBootstrap,
    pool,
    logs,
    reset: () => reset(pool),
    verify: (who, count, markers = count) => verify(pool, who, count, markers),
    async drop() {
      if (pool.ended) return
      await pool.end()
      // Parts of a run copy the database under names that begin with its name.
      await withClient(adminUrl, async client => {
        const { rows } = await client.query(
          'select datname as name from pg_database where starts_with(datname, $1)',
          [`${database}_`],
        )
        for (const name of [database, ...rows.map(row => row.name)])
          await client.query(`drop database if exists ${name} with (force)`)
      })
      await dropQueues(urls.get('rabbitmq') ?? null)
      await logs.kafka?.close()
      await logs.stream?.close()
    },
  }
}

const queuesMade = new Set<string>()

/** One quorum queue per contender, as Onceward declares its own. */
export function queueNameOf(contender: string): string {
  const name = `onceward.bench.${process.pid}.${contender.replaceAll(/[^a-z0-9]+/g, '-')}`
  queuesMade.add(name)
  return name
}

async function dropQueues(url: string | null): Promise<void> {
  if (url === null || queuesMade.size === 0) return
  const connection = await connect(url)
  const channel = await connection.createChannel()
  for (const name of queuesMade) await channel.deleteQueue(name)
  await connection.close()
}

async function reset(pool: pg.Pool): Promise<void> {
  await pool.query(
    'truncate bench_inbox, bench_checkpoint, counter, onceward.inbox, onceward.checkpoint, onceward.queue_message, onceward.receipt',
  )
  await pool.query('insert into counter (key) select generate_series(0, $1::int - 1)', [keyCount])
  await pool.query('analyze counter')
  await pool.query('checkpoint')
}

async function verify(pool: pg.Pool, who: string, count: number, markers: number): Promise<void> {
  const { rows } = await pool.query(`select (select sum(total) from counter)::int as sum,
    (select count(*) from bench_inbox)::int + (select count(*) from onceward.inbox)::int as markers,
    (select count(*) from onceward.queue_message)::int as left`)
  const expected = { sum: sumOf(count), markers, left: 0 }
  if (isDeepStrictEqual(rows[0], expected)) return
  throw new Error(`${who}: found ${JSON.stringify(rows[0])}, expected ${JSON.stringify(expected)}`)
}

async function assertDurable(pool: pg.Pool): Promise<void> {
  const { rows } = await pool.query(
    "select current_setting('fsync') as fsync, current_setting('synchronous_commit') as commit",
  )
  if (rows[0].fsync !== 'on' || rows[0].commit !== 'on')
    throw new Error('the server does not flush commits to disk')
}

async function withClient(url: string, work: (client: pg.Client) => Promise<unknown>): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await work(client).finally(() => client.end())
}
