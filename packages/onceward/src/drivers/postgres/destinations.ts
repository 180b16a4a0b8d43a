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
 * The configured name of a cluster, or the name that it announces. On RabbitMQ the virtual host is part of
 * it.
 */
export function destinationName({ kind, cluster, virtualHost }: BrokerIdentity): string {
  const escaped = cluster.replace(/[%/]/g, encodeURIComponent)
  return virtualHost === undefined ? `${kind}:${escaped}` : `${kind}:${escaped}/${virtualHost}`
}

/**
 * The destination behind a connection: its cluster, under any name that its nodes announce, and its virtual
 * host. `was` is the previous destination of this process: if clusters cannot be distinguished, another node
 * behind the same address counts as the same cluster.
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
 * A configured name takes precedence over the name that the broker announces. It is recorded for writers
 * without an address.
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

/** Concurrent processes write the same two rows. */
async function add(client: SqlClient, broker: BrokerIdentity): Promise<string> {
  const { kind, cluster, virtualHost = '' } = broker
  const name = destinationName(broker)
  await client.query(addDestination, [name, kind, virtualHost])
  await client.query(addCluster, [kind, virtualHost, cluster, name])
  return name
}
