import type { BrokerIdentity } from '../../ports/source.ts'
import type { SqlClient, SqlPool } from './pool.ts'
import { recogniseCluster } from './recognise-cluster.ts'

const readKnown = `
  select destination from onceward.destination_cluster where kind = $1 and virtual_host = $2 and cluster = $3`

const addDestination = `
  insert into onceward.destination (name, kind, virtual_host) values ($1, $2, $3) on conflict do nothing`

const addCluster = `
  insert into onceward.destination_cluster (kind, virtual_host, cluster, destination) values ($1, $2, $3, $4)
  on conflict do nothing`

/**
 * A name that people gave to a cluster, or the one it announces. The virtual host is part of it on RabbitMQ.
 */
export function destinationName({ kind, cluster, virtualHost }: BrokerIdentity): string {
  const escaped = cluster.replace(/[%/]/g, encodeURIComponent)
  return virtualHost === undefined ? `${kind}:${escaped}` : `${kind}:${escaped}/${virtualHost}`
}

/**
 * The destination behind a connection: its cluster, whichever node announced what, and its virtual host.
 * `was` is where this process went before: where nothing can tell clusters apart, another node behind the
 * same address is taken for the same one.
 */
export async function findDestination(
  pool: SqlPool,
  broker: BrokerIdentity,
  was: string | null,
): Promise<string> {
  for (;;) {
    const { cluster, proof, keep } = await recogniseCluster(pool, broker)
    if (proof === 'none') return (await known(pool, broker)) ?? was ?? (await add(pool, broker))
    if (await keep()) {
      const reached = { ...broker, cluster }
      return (await known(pool, reached)) ?? (await add(pool, reached))
    }
  }
}

/**
 * A name that people gave outranks what the broker says. It is known from now on, for writers without an
 * address.
 */
export async function declareDestination(pool: SqlPool, broker: BrokerIdentity): Promise<string> {
  const name = destinationName(broker)
  await pool.query(addDestination, [name, broker.kind, broker.virtualHost ?? ''])
  return name
}

async function known(
  client: SqlClient,
  { kind, cluster, virtualHost = '' }: BrokerIdentity,
): Promise<string | null> {
  const { rows } = await client.query(readKnown, [kind, virtualHost, cluster])
  return rows[0]?.destination ?? null
}

/** Two processes at the same time write the same two rows. */
async function add(client: SqlClient, broker: BrokerIdentity): Promise<string> {
  const { kind, cluster, virtualHost = '' } = broker
  const name = destinationName(broker)
  await client.query(addDestination, [name, kind, virtualHost])
  await client.query(addCluster, [kind, virtualHost, cluster, name])
  return name
}
