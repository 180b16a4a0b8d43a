import type { Source } from '../../ports/source.ts'
import type { Actor } from './actor.ts'
import type { Publication } from './publication.ts'
import { SimulatedStoreError } from './store-error.ts'

/** The broker of a schedule, queue or log. */
export interface SimulatedBroker {
  publish(publication: Publication): void
  sourceOf(actor: Actor): Source
  /** True when every published message is acknowledged. */
  readonly drained: boolean
  /** Takes back what a process holds. The process may be dead, frozen or unaware of it. */
  disconnect(actor: Actor): boolean
  /** Logs: partitions move, with or without notice to their owner. */
  rebalance?(): boolean
  loseOne?(): boolean
}

export const brokerRefused = () => new SimulatedStoreError('ECONNREFUSED', 'the broker refuses connections')
