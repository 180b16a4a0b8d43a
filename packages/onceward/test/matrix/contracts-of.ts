import type { Combination, Dimension } from './dimensions.ts'
import { nameOf } from './dimensions.ts'
import { choosable } from './refusal.ts'

/** The part of a contract that a combination decides, apart from its source. */
export interface ChosenContract {
  readonly name: string
  readonly order: Combination['order']
  readonly inbox: { readonly mode: Combination['inbox'] }
  readonly failure: { readonly mode: Combination['failure'] }
}

/**
 * For tests with properties of their own: every contract that may be chosen with these values, named after its
 * other dimensions.
 */
export function contractsOf(fixed: Partial<Combination>): readonly ChosenContract[] {
  const free = ['order', 'inbox', 'failure'] as const satisfies readonly Dimension[]
  const found = choosable.filter(one =>
    Object.entries(fixed).every(([dimension, value]) => one[dimension as Dimension] === value),
  )
  const contracts = found.map(one => ({
    name: free.map(dimension => one[dimension]).join(' · '),
    order: one.order,
    inbox: { mode: one.inbox },
    failure: { mode: one.failure },
  }))
  const names = contracts.map(({ name }) => name)
  if (new Set(names).size === names.length) return contracts
  throw new Error(`Fix more dimensions; these are left: ${found.map(nameOf).join('\n')}`)
}
