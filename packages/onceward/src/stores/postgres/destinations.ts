import { randomBytes } from 'node:crypto'
import type { BrokerIdentity } from '../../contracts/source.ts'
import { inTransaction } from './in-transaction.ts'
import type { SqlClient, SqlPool } from './pool.ts'

const readKnown = `
  select destination from onceward.destination_cluster where kind = $1 and virtual_host = $2 and cluster = $3`

const readMarked = `
  select name, mark, exists (select from onceward.destination_cluster c
    where c.destination = d.name and position('@' in c.cluster) = 0) as "clusterNamed"
  from onceward.destination d where kind = $1 and virtual_host = $2 order by first_at`

const addDestination = `
  insert into onceward.destination (name, kind, virtual_host, mark) values ($1, $2, $3, $4) on conflict do nothing`

const addCluster = `
  insert into onceward.destination_cluster (kind, virtual_host, cluster, destination) values ($1, $2, $3, $4)
  on conflict do nothing`

/** A name that people gave to a cluster, or the one it announces. The virtual host is part of it on RabbitMQ. */
export function destinationName({ kind, cluster, virtualHost }: BrokerIdentity): string {
  const escaped = cluster.replace(/[%/]/g, encodeURIComponent)
  return virtualHost === undefined ? `${kind}:${escaped}` : `${kind}:${escaped}/${virtualHost}`
}

/**
 * The destination behind a connection. Kafka's cluster id is the same on every node. A RabbitMQ node announces its own name unless the
 * cluster was given one, so a name that is new is compared by a mark in the virtual host before it becomes another destination. `was` is where
 * this process went before: without a mark, another node behind the same address is taken for the same cluster.
 */
export async function findDestination(
  pool: SqlPool,
  broker: BrokerIdentity,
  was: string | null,
): Promise<string> {
  const { kind, cluster, virtualHost = '' } = broker
  const { rows } = await pool.query(readKnown, [kind, virtualHost, cluster])
  if (rows.length > 0) return rows[0].destination
  return inTransaction(pool, async client => {
    await client.query(`select pg_advisory_xact_lock(hashtext('onceward.destination'), hashtext($1))`, [kind])
    const known = await client.query(readKnown, [kind, virtualHost, cluster])
    if (known.rows.length > 0) return known.rows[0].destination
    const name = (await sameCluster(client, broker, was)) ?? (await addNew(client, broker))
    await client.query(addCluster, [kind, virtualHost, cluster, name])
    return name
  })
}

/** A name that people gave outranks what the broker says. It is known from now on, for writers without an address. */
export async function declareDestination(pool: SqlPool, broker: BrokerIdentity): Promise<string> {
  const name = destinationName(broker)
  await pool.query(addDestination, [name, broker.kind, broker.virtualHost ?? '', null])
  return name
}

interface Marked {
  readonly name: string
  readonly mark: string | null
  /** It was met under a name that is no node's: another such name is another cluster, even where definitions were copied. */
  readonly clusterNamed: boolean
}

async function sameCluster(
  client: SqlClient,
  { kind, cluster, virtualHost = '', marks }: BrokerIdentity,
  was: string | null,
): Promise<string | null> {
  if (marks === undefined) return null
  const named = !cluster.includes('@')
  const { rows } = await client.query(readMarked, [kind, virtualHost])
  for (const { name, mark, clusterNamed } of rows as Marked[]) {
    if (named && clusterNamed) continue
    if (mark === null ? name === was : await marks.has(mark)) return name
  }
  return null
}

async function addNew(client: SqlClient, broker: BrokerIdentity): Promise<string> {
  const { kind, virtualHost = '', marks } = broker
  const name = destinationName(broker)
  const mark = `onceward.destination.${randomBytes(8).toString('hex')}`
  const marked = marks !== undefined && (await marks.put(mark))
  await client.query(addDestination, [name, kind, virtualHost, marked ? mark : null])
  return name
}
