import type { Consumer } from '../../contract/define-consumer.ts'
import type { SqlTransaction } from '../../contract/handler.ts'
import type { SqlClient } from '../../drivers/postgres/pool.ts'
import { byBroker, levelQueue } from '../../ports/retry-levels.ts'
import type { MarkerAnswer, StoreSession } from '../../ports/store.ts'
import type { Campaign } from './campaign.ts'
import { sqlOf } from './campaign-session.ts'

type Claim = StoreSession<unknown>['insertMarkers']

/**
 * Messages that live has tried and has no marker of, unless retention may have removed it. What a campaign
 * has tried itself does not count.
 */
const retried = `
  select asked.id from unnest($2::text[]) as asked (id)
  where exists (select from onceward.attempt a join onceward.run r on r.id = a.run_id
      where a.consumer_id = $1 and a.message_id = asked.id and r.campaign_id is null
        and a.at > coalesce((select h.purged_before from onceward.horizon h where h.consumer_id = $1), '-infinity') offset 0)
    and not exists (select from onceward.inbox i where i.consumer_id = $1 and i.message_id = asked.id offset 0)`

const hasLevels = `
  select exists (select from onceward.checkpoint k join onceward.consumer c on c.id = k.consumer_id
    where c.name = $1 and c.generation = $2 and starts_with(k.partition, $3::text)) as waited`

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
  const { rows } = await client.query(hasLevels, [consumer, liveGeneration, levelQueue(topic, '')])
  return rows[0].waited
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
  const { rows } = await sqlOf(session).query<{ id: string }>(retried, [
    consumerId,
    claims.map(({ id }) => id),
  ])
  if (rows.length === 0) return claim(claims, as)
  const left = new Set(rows.map(({ id }) => id))
  const taken = claims.filter(({ id }) => !left.has(id))
  const answers = taken.length === 0 ? [] : await claim(taken, as)
  const byId = new Map(taken.map(({ id }, index) => [id, answers[index]!]))
  return claims.map(({ id }) => byId.get(id) ?? atTheBroker)
}
