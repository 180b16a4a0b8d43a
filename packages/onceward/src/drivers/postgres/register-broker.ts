import type { Log } from '../../environment.ts'
import { OncewardError } from '../../errors.ts'
import type { BrokerIdentity } from '../../ports/source.ts'
import type { SqlClient } from './pool.ts'
import { recogniseCluster } from './recognise-cluster.ts'

/**
 * If the database belongs to a named environment, a second cluster of a kind is refused; otherwise a warning
 * is logged.
 */
export async function registerBroker(client: SqlClient, broker: BrokerIdentity, log: Log): Promise<void> {
  for (let refused = false; ; ) {
    const { cluster, proof, keep } = await recogniseCluster(client, broker)
    if (proof === 'none') return warnUnproven(broker, cluster, log)
    // The first of its kind is marked before it is accepted, others afterwards: a process that connects
    // through another node meanwhile then finds the mark.
    const early = proof === 'new' && (await isFirst(client, broker))
    if (early && !(await keep())) continue
    try {
      await assertFeeds(client, broker, cluster, log)
    } catch (error) {
      if (proof !== 'new' || refused) throw error
      refused = true
      continue
    }
    if (early || (await keep())) return
  }
}

async function isFirst(client: SqlClient, { kind }: BrokerIdentity): Promise<boolean> {
  const { rows } = await client.query('select from onceward.broker where kind = $1 limit 1', [kind])
  return rows.length === 0
}

async function assertFeeds(
  client: SqlClient,
  { kind, cluster: announced }: BrokerIdentity,
  cluster: string,
  log: Log,
): Promise<void> {
  const { rows } = await client.query(
    'select onceward.register_broker($1, $2) as others, (select name from onceward.environment) as environment',
    [kind, cluster],
  )
  const { others, environment } = rows[0] as { others: string[]; environment: string | null }
  if (others.length === 0) return
  const known = others.map(one => `"${one}"`).join(', ')
  if (environment === null)
    return log.warn('a second broker cluster feeds this database', { kind, cluster, known })
  throw new OncewardError(
    'wrong_environment',
    `The database of environment "${environment}" is fed by ${kind} cluster ${known}, and this process reached cluster "${cluster}"${sameName(cluster, announced)}. No message was received and nothing is lost. Check the addresses. If this cluster belongs to the environment too: onceward brokers accept ${kind} '${cluster.replaceAll("'", "'\\''")}' --because …`,
    { details: { kind, cluster, announced, known: others } },
  )
}

function sameName(cluster: string, announced: string): string {
  return cluster === announced
    ? ''
    : `, which announces the name "${announced}" but lacks the exchange onceward.cluster.… that marks the known one`
}

function warnUnproven({ kind, cluster: announced }: BrokerIdentity, cluster: string, log: Log): void {
  log.warn('a node announced an unknown name; without proof it counts as the known cluster', {
    kind,
    announced,
    cluster,
    fix: 'set a cluster name (rabbitmqctl set_cluster_name), or permit the user to configure exchanges named onceward.cluster.*',
  })
}
