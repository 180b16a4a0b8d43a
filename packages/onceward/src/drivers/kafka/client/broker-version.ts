import { OncewardError } from '../../../errors.ts'
import { apiVersionsV0, apiVersionsV4, type Connection } from './wire.ts'

/** The requests that the client sends, as API key and version. Kafka 4.0 introduced the last of them. */
const needed: readonly (readonly [name: string, key: number, version: number])[] = [
  ['Produce', 0, 12],
  ['Fetch', 1, 17],
  ['ListOffsets', 2, 9],
  ['Metadata', 3, 12],
  ['OffsetCommit', 8, 9],
  ['OffsetFetch', 9, 9],
  ['FindCoordinator', 10, 6],
  ['JoinGroup', 11, 9],
  ['Heartbeat', 12, 4],
  ['LeaveGroup', 13, 5],
  ['SyncGroup', 14, 5],
  ['InitProducerId', 22, 5],
  ['OffsetForLeaderEpoch', 23, 4],
  ['EndTxn', 26, 5],
  ['TxnOffsetCommit', 28, 5],
]

export interface BrokerFeatures {
  /** The cluster's `transaction.version`: 2 since 4.0, unless an upgraded cluster has not enabled it. */
  readonly transactionVersion: number
}

/**
 * Rejects a broker that lacks one of these versions. The first request uses version 0, the only one that
 * every broker understands.
 */
export async function checkBroker(connection: Connection): Promise<BrokerFeatures> {
  const { apiKeys } = await apiVersionsV0.api.async(connection, 'onceward', '0')
  const missing = needed.filter(
    ([, key, version]) =>
      !apiKeys.some(api => api.apiKey === key && api.minVersion <= version && version <= api.maxVersion),
  )
  if (missing.length > 0) throw tooOld(connection, missing)
  const { finalizedFeatures } = await apiVersionsV4.api.async(connection, 'onceward', '0')
  const transactions = finalizedFeatures?.find(({ name }) => name === 'transaction.version')
  return { transactionVersion: transactions?.maxVersionLevel ?? 0 }
}

function tooOld({ host, port }: Connection, missing: typeof needed): OncewardError {
  const list = missing.map(([name, , version]) => `${name} v${version}`).join(', ')
  return new OncewardError(
    'configuration',
    `The broker at ${host}:${port} does not support ${list}. Nothing was read or written. Onceward needs Kafka 4.0 or newer: upgrade the cluster.`,
  )
}
