import type { SqlTransaction } from '../../contract/handler.ts'
import { countWaiting } from '../../drivers/postgres/projection/count-waiting.ts'
import type { GapPlan } from './plan.ts'
import type { KeyFacts, ProjectionFact } from './read-facts.ts'

/** Limits the number of waiting facts. */
export interface WaitingRoom<M> {
  /** True when this fact may wait. Repeated calls for the same fact return the same answer. */
  admits(fact: ProjectionFact<M>, key: KeyFacts<M>): boolean
}

/** Concurrent batches may each use the remaining room, so the caps can be exceeded by the facts in flight. */
export async function openWaitingRoom<M>(
  { keyMax, totalMax }: Extract<GapPlan<M>, { policy: 'wait' }>,
  open: readonly { readonly key: KeyFacts<M> }[],
  tx: SqlTransaction,
): Promise<WaitingRoom<M>> {
  const names = open.map(({ key }) => key.name)
  const waiting = await countWaiting(tx, names, { keyMax, totalMax })
  const ofKey = new Map(waiting.map(({ key, count }) => [key, count]))
  let total = waiting[0]?.total ?? 0
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
