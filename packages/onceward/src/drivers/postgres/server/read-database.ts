import type { BrokerIdentity } from '../../../ports/source.ts'
import { migrations } from '../migrations/index.ts'
import type { OwnPool, PooledClient, SqlClient } from '../pool.ts'

/**
 * What `onceward check` reads from a database. Facts from our own tables are null or empty without a schema.
 */
export interface DatabaseFacts {
  readonly name: string
  readonly role: string
  readonly superuser: boolean
  readonly versionNumber: number
  /** The answer of `version()`, which must name the same version. */
  readonly versionText: string
  readonly inRecovery: boolean
  readonly settings: Readonly<Record<string, string>>
  readonly clockMs: number
  readonly pooling: Pooling
  readonly schema: SchemaFacts | null
  /** The newest schema version of this code. */
  readonly schemaWanted: number
  readonly environment: string | null
  readonly consumers: readonly EnrolledConsumer[]
  readonly tables: readonly TableFacts[]
  /** The rights that a running consumer lacks, as `insert on onceward.inbox`. */
  readonly missingRights: readonly string[]
  /** Which consumer has read which source; null if the schema has no such table. */
  readonly readings: readonly NotedReading[] | null
  /** The queues of the database; null if this login may not read them. */
  readonly queues: readonly string[] | null
  /** The clusters that feed this database. */
  readonly brokers: readonly BrokerIdentity[]
  /**
   * Whether an operator has accepted the current incarnation of this server; null if the schema has no such
   * table.
   */
  readonly incarnationAccepted: boolean | null
  /** The oldest transaction of this database that the login can see. */
  readonly oldestTransactionSeconds: number
  /** Whether the login sees the transactions of every login. */
  readonly seesTransactions: boolean
}

/** `none`: no pooler in between. `statement` cannot keep a transaction together. */
export type Pooling = 'none' | 'session' | 'transaction' | 'statement'

export interface SchemaFacts {
  readonly version: number
  readonly compatibleFrom: number
}

export interface EnrolledConsumer {
  readonly name: string
  readonly generation: number
  readonly dedup: string
  readonly markers: boolean
  /** Its markers are in daily partitions. */
  readonly days: boolean
}

export interface NotedReading {
  readonly name: string
  readonly kind: string
  readonly place: string
  readonly reader: string
  /** Null or absent if unknown. */
  readonly virtualHost?: string | null
}

export interface TableFacts {
  readonly table: string
  readonly live: number
  readonly dead: number
  readonly autovacuum: boolean
}

const settingNames = [
  'fsync',
  'full_page_writes',
  'synchronous_commit',
  'default_transaction_isolation',
  'default_transaction_read_only',
  'autovacuum',
  'track_counts',
]
/**
 * Tables that a running consumer only reads, or only inserts into; it reads and writes all others. As in
 * `onceward.create_roles`.
 */
const readTablesOnly = [
  ...['approval', 'audit', 'audit_head', 'broker', 'campaign_approval', 'campaign_event', 'campaign_step'],
  ...[
    'closed_held',
    'cluster_mark',
    'cluster_name',
    'environment',
    'fix',
    'function_right',
    'late_marker',
    'marker_days',
    'migration',
    'person',
    'reader',
    'redrive',
    'redrive_row',
    'server_incarnation',
    'classification',
  ],
]
const addedToOnly = ['clock_step', 'held_action', 'ledger_action']
/** Functions for operators, and the functions that only these call. */
const peoplesFunctions = [
  ...[
    'accept_broker',
    'accept_loss',
    'accept_incarnation',
    'act_on_effect',
    'approve',
    'approve_campaign',
    'audit_entry',
    'audit_risk',
    'begin_act',
    'campaign_event_of',
    'close_rows',
    'console_refused',
    'decline',
    'end_act',
    'own_filters',
    'quarantine_parked',
    'remove_filter',
    'save_filter',
    'second_of_tenant_drop',
  ],
  ...[
    'create_first_roles',
    'create_roles',
    'delete_parked',
    'drop_outbox',
    'drop_receipts_of',
    'drop_tenant',
    'fix_guard',
    'fix_parked',
    'unblock_keys',
    'release_rows',
    'release_keys',
    'redrive_stage',
    'redrive_start',
    'redrive_stop',
  ],
  ...[
    'refuse',
    'release_brake',
    'release_held',
    'rename_consumer',
    'request_deletion',
    'retire_destination',
    'separate_reader',
    'skip_parked',
    'classify_parked',
  ],
  ...[
    'assert_day_expired',
    'assert_read_committed',
    'attach_days',
    'build_days',
    'count_purged',
    'copy_grants',
    'lock_inbox',
    'has_open_rebuild',
    'make_day',
    'move_to_days',
    'record_late_marker',
    'owner_only',
  ],
]

/** Reads in one read-only transaction; the server limits each statement. */
export async function readDatabase(pool: OwnPool): Promise<DatabaseFacts> {
  const client = await pool.connect()
  try {
    const pooling = await findPooling(pool, client)
    if (pooling !== 'statement')
      await client.query(
        `begin transaction read only; set local statement_timeout = '5s'; set local lock_timeout = '2s'`,
      )
    const facts = await readFacts(client, pooling)
    if (pooling !== 'statement') await client.query('rollback')
    client.release()
    return facts
  } catch (error) {
    client.release(true)
    throw error
  }
}

/**
 * Most poolers invent the process id they report at connect, but one may pass on the server's. Whether it
 * pools sessions or transactions shows in what a second connection gets while the first is idle: its server
 * connection, or another. In statement mode BEGIN is refused, or what it began is forgotten.
 */
async function findPooling(pool: OwnPool, client: PooledClient): Promise<Pooling> {
  const announced = (client as { processID?: number | null }).processID
  const first = await backendOf(client)
  try {
    await client.query('begin transaction read only')
    await client.query(`select set_config('onceward.probe', 'kept', true)`)
    const { rows } = await client.query(`select current_setting('onceward.probe', true) as probe`)
    await client.query('rollback')
    if (rows[0].probe !== 'kept') return 'statement'
  } catch (error) {
    if (/statement pool/i.test(String((error as Error).message))) return 'statement'
    throw error
  }
  const again = await backendOf(client)
  const second = await pool.connect()
  try {
    if ((await backendOf(second)) === again || again !== first) return 'transaction'
    return announced === first ? 'none' : 'session'
  } finally {
    second.release()
  }
}

async function backendOf(client: SqlClient): Promise<number> {
  const { rows } = await client.query('select pg_backend_pid() as pid')
  return rows[0].pid as number
}

async function readFacts(client: SqlClient, pooling: Pooling): Promise<DatabaseFacts> {
  const { rows: server } = await client.query(`
    select current_database() as name, current_user as role,
      (select rolsuper from pg_roles where rolname = current_user) as superuser,
      current_setting('server_version_num')::int as version, version() as version_text, pg_is_in_recovery() as recovery,
      (extract(epoch from clock_timestamp()) * 1000)::float8 as clock,
      exists (select from pg_tables where schemaname = 'onceward' and tablename = 'migration') as migrated,
      coalesce((select max(extract(epoch from clock_timestamp() - xact_start)) from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid()), 0)::float8 as oldest,
      pg_has_role('pg_read_all_stats', 'usage') as sees`)
  const { rows: settings } = await client.query(
    'select name, reset_val as value from pg_settings where name = any($1::text[])',
    [settingNames],
  )
  const about = server[0]
  const own = about.migrated ? await readOwn(client) : null
  return {
    name: about.name,
    role: about.role,
    superuser: about.superuser === true,
    versionNumber: about.version,
    versionText: about.version_text,
    inRecovery: about.recovery,
    settings: Object.fromEntries(settings.map(row => [row.name, row.value])),
    clockMs: about.clock,
    pooling,
    schemaWanted: migrations.at(-1)!.version,
    oldestTransactionSeconds: about.oldest,
    seesTransactions: about.sees,
    ...(own ?? { ...unknown, tables: [], missingRights: [] }),
  }
}

const unknown = {
  schema: null,
  environment: null,
  consumers: [],
  readings: null,
  queues: null,
  brokers: [],
  incarnationAccepted: null,
} as const

type OwnFacts = Pick<DatabaseFacts, keyof typeof unknown | 'tables' | 'missingRights'>

async function readOwn(client: SqlClient): Promise<OwnFacts> {
  const missingRights = await readMissingRights(client)
  const nothing = { ...unknown, tables: await readTables(client), missingRights }
  if (missingRights.includes('usage on schema onceward')) return nothing
  const { rows: readable } = await client.query(
    `select bool_and(has_table_privilege('onceward.' || name, 'select')) as all
     from unnest(array['migration', 'environment', 'consumer', 'inbox', 'queue', 'reader', 'broker', 'server_incarnation']) name
     where exists (select from pg_tables where schemaname = 'onceward' and tablename = name)`,
  )
  if (readable[0].all !== true) return nothing
  const { rows: schema } = await client.query(
    'select version, (select max(compatible_from) from onceward.migration) as compatible from onceward.migration order by version desc limit 1',
  )
  const { rows: environment } = await client.query('select name from onceward.environment')
  const { rows: consumers } = await client.query(
    `select name, generation::int, dedup, exists (select from onceward.inbox where consumer_id = c.id) as markers,
       to_regclass('onceward.inbox_' || c.id) is not null as days
     from onceward.consumer c order by name, generation`,
  )
  const { rows: queues } = await client.query('select name from onceward.queue')
  return {
    ...nothing,
    queues: queues.map(row => row.name as string),
    schema:
      schema[0] === undefined ? null : { version: schema[0].version, compatibleFrom: schema[0].compatible },
    environment: environment[0]?.name ?? null,
    consumers,
    ...(await readGuards(client)),
  }
}

/** Clusters by every name that their nodes announced. */
const readBrokers = `
  select b.kind, coalesce(n.announced, b.cluster) as cluster from onceward.broker b
  left join onceward.cluster_name n on n.kind = b.kind and n.cluster = b.cluster`

/** Registered readers, brokers and the server’s incarnation. */
async function readGuards(client: SqlClient) {
  const { rows: readings } = await client.query(
    'select consumer_name as name, kind, source as place, consumer_group as reader, virtual_host as "virtualHost" from onceward.reader',
  )
  const { rows: brokers } = await client.query(readBrokers)
  const { rows: may } = await client.query(
    `select has_function_privilege('onceward.server_check()', 'execute') as may`,
  )
  if (!may[0].may) return { readings, brokers }
  const { rows: incarnation } = await client.query(
    'select open is null and known is not false as accepted from onceward.server_check()',
  )
  return { readings, brokers, incarnationAccepted: incarnation[0].accepted as boolean }
}

async function readTables(client: SqlClient): Promise<TableFacts[]> {
  const { rows } = await client.query(`
    select c.relname as table, coalesce(s.n_live_tup, 0)::float8 as live, coalesce(s.n_dead_tup, 0)::float8 as dead,
      not coalesce('autovacuum_enabled=false' = any (c.reloptions) or 'autovacuum_enabled=off' = any (c.reloptions), false) as autovacuum
    from pg_class c left join pg_stat_all_tables s on s.relid = c.oid
    where c.relkind = 'r' and c.relnamespace = (select oid from pg_namespace where nspname = 'onceward')`)
  return rows
}

async function readMissingRights(client: SqlClient): Promise<string[]> {
  const { rows: usage } = await client.query(`select has_schema_privilege('onceward', 'usage') as may`)
  if (!usage[0].may) return ['usage on schema onceward']
  const { rows } = await client.query(
    `select right_name || ' on onceward.' || c.relname as missing
     from pg_class c cross join unnest(array['select', 'insert', 'update', 'delete']) right_name
     where c.relnamespace = 'onceward'::regnamespace and c.relkind in ('r', 'p') and not has_table_privilege(c.oid, right_name)
       and not (right_name in ('insert', 'update') and has_any_column_privilege(c.oid, right_name))
       and (right_name, c.relname) <> ('delete', 'loss')
       and (right_name = 'select' or c.relname <> all($1::text[]))
       and (right_name in ('select', 'insert') or (c.relname <> all($2::text[]) and c.relname !~ '^receipt(_|$)'))
     union all
     select 'execute on onceward.' || proname from pg_proc p
     where p.pronamespace = 'onceward'::regnamespace and proname <> all($3::text[]) and not has_function_privilege(p.oid, 'execute')
     order by 1`,
    [readTablesOnly, addedToOnly, peoplesFunctions],
  )
  return rows.map(row => row.missing as string)
}
