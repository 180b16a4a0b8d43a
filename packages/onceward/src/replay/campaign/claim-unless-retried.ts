import type { Consumer } from '../../contract/define-consumer.ts'
import type { SqlTransaction } from '../../contract/handler.ts'
import { findRetriedByLive, hasReadRetryLevels } from '../../drivers/postgres/campaign/retried-by-live.ts'
import type { SqlClient } from '../../drivers/postgres/pool.ts'
import type { MarkerAnswer } from '../../ports/markers.ts'
import { byBroker, levelQueue } from '../../ports/retry-levels.ts'
import type { StoreSession } from '../../ports/store-session.ts'
import type { Campaign } from './campaign.ts'
import { sqlOf } from './sql-of.ts'

type Claim = StoreSession<unknown>['insertMarkers']

/**
 * Whether failed messages of the consumer may wait at the broker, by the current contract or by an earlier
 * one whose copies are still read.
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
 * The live consumer has passed the position of a message that waits at the broker, and has no marker of it. A
 * campaign that suppresses effects leaves such a message to the copy that the broker delivers. If the
 * campaign applied it, the copy would be a duplicate and its effects would never be requested. The campaign
 * lists it among its findings, as already held.
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
