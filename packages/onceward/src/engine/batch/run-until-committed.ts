import type { Subscription } from '../../contracts/source.ts'
import type { Received } from '../../message/received.ts'
import type { StoreWatch } from '../consumer/store-watch.ts'
import { type Decided, processBatch, type Spine } from './commit-batch.ts'
import { fencedPartitions, type Tries } from './log-fence.ts'
import { StorePaused } from './recover-attempt.ts'
import { lostClaims } from './stored-mode.ts'

/** Failures of one batch, the store answering in between, after which the cause is looked for inside it. */
const patience = 5

/** What deciding a batch needs of its consumer. */
export interface Desk<M, Tx> {
  readonly watch: StoreWatch<Tx>
  readonly subscription: Subscription
  spine(suspicious: boolean, tries: Tries): Spine<M, Tx>
  /** False once the source has taken the delivery back. */
  isLive(received: Received<M>): boolean
  /** The batch waits; called around each wait. */
  onPause(): () => void
  /** False while draining: a store that is away is then not waited for. */
  waits(): boolean
}

/**
 * Runs the spine again for as long as the store is away; the deliveries stay unsettled. A batch that fails again and again while the store
 * answers in between has somebody in it who is the cause: from then on it is taken apart. Partitions that went to another owner leave it.
 */
export async function decideBatch<M, Tx>(
  batch: readonly Received<M>[],
  desk: Desk<M, Tx>,
): Promise<readonly Decided<M>[]> {
  let current = batch
  const tries: Tries = { mayHaveCommitted: false, written: [] }
  let moves = 0
  for (let failures = 0; ; ) {
    await desk.watch.present()
    // Also before the first try: where order counts, what stands behind a delivery that was taken back must go with it.
    current = current.filter(received => desk.isLive(received))
    if (current.length === 0) return []
    const spine = desk.spine(failures >= patience, tries)
    try {
      return await processBatch(current, spine)
    } catch (error) {
      if (spine.signal.aborted) throw error
      const taken = lostClaims(error)
      if (taken !== null) {
        const isTaken = ({ delivery }: Received<M>) => taken.includes(delivery.held!.row)
        desk.subscription.dropClaims?.(current.filter(isTaken).map(({ delivery }) => delivery))
        current = current.filter(received => !isTaken(received))
        continue
      }
      const lost = fencedPartitions(error, 'ownership_lost')
      if (lost !== null) {
        // Left over from before a partition went and came back: they are what the fence met, not the ownership we have now.
        const stale = current.some(
          received => lost.includes(received.delivery.partition) && !desk.isLive(received),
        )
        if (!stale) {
          desk.subscription.disown?.(lost)
          current = current.filter(({ delivery }) => !lost.includes(delivery.partition))
        }
      } else if (fencedPartitions(error, 'position_moved') !== null && moves++ < patience) {
        // A try of ours took after all, perhaps only now: its COMMIT may reach the server after we gave its connection up.
        tries.mayHaveCommitted = true
      } else if (error instanceof StorePaused) {
        tries.mayHaveCommitted = true
        const resumed = desk.onPause()
        await desk.watch.pause(error, failures++).finally(resumed)
        if (!desk.waits() && error.trouble === 'unavailable') throw error
      } else throw error
    }
  }
}
