import type { SqlTransaction } from '../../contract/handler.ts'
import type { GapPlan } from './plan.ts'
import type { KeyFacts, ProjectionFact } from './read-facts.ts'

/** How many facts may still wait. */
export interface WaitingRoom<M> {
  /** True when this one may; asked again about the same fact, the answer is the same. */
  admits(fact: ProjectionFact<M>, key: KeyFacts<M>): boolean
}

/** Counts no further than the caps. */
const countWaiting = `
  with me as (select consumer_id from onceward.run where id = current_setting('onceward.run')::integer)
  select wanted.key, (
      select count(*)::integer from (
        select from onceward.held, me
        where held.consumer_id = me.consumer_id and held.order_key = wanted.key and held.state = 'waiting' limit $2
      ) of_key
    ) as count, (
      select count(*)::integer from (
        select from onceward.held, me
        where held.consumer_id = me.consumer_id and held.order_key is not null and held.state = 'waiting' limit $3
      ) of_all
    ) as total
  from unnest($1::text[]) as wanted (key)`

/** Two batches at the same time may each fill the same room: the caps hold to within what is in flight. */
export async function openWaitingRoom<M>(
  { keyMax, totalMax }: Extract<GapPlan<M>, { policy: 'wait' }>,
  open: readonly { readonly key: KeyFacts<M> }[],
  tx: SqlTransaction,
): Promise<WaitingRoom<M>> {
  const { rows } = await tx.query<{ key: string; count: number; total: number }>(countWaiting, [
    open.map(({ key }) => key.name),
    keyMax,
    totalMax,
  ])
  const ofKey = new Map(rows.map(({ key, count }) => [key, count]))
  let total = rows[0]?.total ?? 0
  const admitted = new Set<ProjectionFact<M>>()
  return {
    admits(fact, { name }) {
      if (admitted.has(fact)) return true
      const count = ofKey.get(name) ?? 0
      if (count >= keyMax || total >= totalMax) return false
      ofKey.set(name, count + 1)
      total++
      admitted.add(fact)
      return true
    },
  }
}
