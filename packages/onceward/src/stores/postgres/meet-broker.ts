import type { BrokerIdentity } from '../../contracts/source.ts'
import { OncewardError } from '../../errors.ts'
import type { Log } from '../../surroundings.ts'
import type { SqlClient } from './pool.ts'

/** Where the database belongs to a named environment, a second cluster of a kind is refused; elsewhere people are told. */
export async function meetBroker(
  client: SqlClient,
  { kind, cluster }: BrokerIdentity,
  log: Log,
): Promise<void> {
  const { rows } = await client.query(
    'select onceward.meet_broker($1, $2) as others, (select name from onceward.environment) as environment',
    [kind, cluster],
  )
  const { others, environment } = rows[0] as { others: string[]; environment: string | null }
  if (others.length === 0) return
  const known = others.map(one => `"${one}"`).join(', ')
  if (environment === null)
    return log.warn('another broker cluster than before feeds this database', { kind, cluster, known })
  throw new OncewardError(
    'wrong_environment',
    `The database of environment "${environment}" is fed by ${kind} cluster ${known}, and this process reached cluster "${cluster}". Nothing was taken and nothing is lost. Check the addresses; if this cluster belongs to it too: onceward brokers accept ${kind} '${cluster.replaceAll("'", "'\\''")}' --because …`,
    { details: { kind, cluster, known: others } },
  )
}
