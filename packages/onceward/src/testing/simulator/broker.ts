import type { Source } from '../../ports/source.ts'
import type { Actor } from './actor.ts'
import type { Publication } from './publication.ts'

/** What a schedule needs of the broker under it, queue or log. */
export interface SimulatedBroker {
  publish(publication: Publication): void
  sourceOf(actor: Actor): Source
  /** True when it has been told of the end of everything published. */
  readonly drained: boolean
  /** Takes away what a process has; it may be dead, frozen or none the wiser. */
  disconnect(actor: Actor): boolean
  /** Logs: partitions move, with or without their owner knowing. */
  rebalance?(): boolean
  loseOne?(): boolean
}
