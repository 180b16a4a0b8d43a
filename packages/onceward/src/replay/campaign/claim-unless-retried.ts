import type { Consumer } from '../../contract/define-consumer.ts'
import type { SqlTransaction } from '../../contract/handler.ts'
import { findRetriedByLive, hasReadRetryLevels } from '../../drivers/postgres/campaign/retried-by-live.ts'
import type { SqlClient } from '../../drivers/postgres/pool.ts'
import { byBroker, levelQueue } from '../../ports/retry-levels.ts'
import type { MarkerAnswer, StoreSession } from '../../ports/store.ts'
import type { Campaign } from './campaign.ts'
import { sqlOf } from './campaign-session.ts'

type Claim = StoreSession<unknown>['insertMarkers']

/**
 * Failed messages of the consumer may wait at the broker: by its contract of today, or by one of before,
 * whose copies are still read.
 */
export async function mayWaitAtBroker(
  client: SqlClient,
  { consumer, liveGeneration }: Pick<Campaign, 'consumer' | 'liveGeneration'>,
  { failure, source }: Pick<Consumer<unknown, SqlTransaction>, 'failure' | 'source'>,
): Promise<boolean> {
  if (byBroker(failure.mode)) return true
  if (source.kind !== 'kafka') return false
  const { topic } = source as typeof source & { topic: string }
  const live = { name: consumer, generation: liveGeneration }
  return hasReadRetryLevels(client, live, levelQueue(topic, ''))
}

const atTheBroker: MarkerAnswer = { kind: 'seen', status: 'stored', sameDigest: true }

/**
 * Where failed messages wait at the broker, live has passed their position and has no marker of them. A
 * campaign that suppresses effects leaves those to the copy that comes back: applied here, the copy would be
 * a duplicate and nobody would ask for their effects. They are findings, as already held.
 */
export async function claimUnlessRetried<Tx>(
  session: StoreSession<Tx>,
  consumerId: number,
  claim: Claim,
  ...[claims, as]: Parameters<Claim>
): Promise<readonly MarkerAnswer[]> {
  const ids = claims.map(({ id }) => id)
  const left = await findRetriedByLive(sqlOf(session), consumerId, ids)
  if (left.size === 0) return claim(claims, as)
  const taken = claims.filter(({ id }) => !left.has(id))
  const answers = taken.length === 0 ? [] : await claim(taken, as)
  const byId = new Map(taken.map(({ id }, index) => [id, answers[index]!]))
  return claims.map(({ id }) => byId.get(id) ?? atTheBroker)
}
