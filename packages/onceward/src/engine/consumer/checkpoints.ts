import type { Consumer } from '../../contract/define-consumer.ts'
import type { Reach } from '../../crash-points.ts'
import type { Enrolment } from '../../ports/enrolment.ts'
import type { Checkpoints, LogOptions } from '../../ports/source.ts'
import type { Store } from '../../ports/store.ts'
import type { CrashSuspects } from '../crash-suspects/crash-suspects.ts'
import type { StoreWatch } from './store-watch.ts'

/** Checkpoints of a log source in the store. Calls are repeated while the store is unavailable. */
export function checkpointsOf<Tx>(
  store: Store<Tx>,
  enrolment: Enrolment,
  watch: StoreWatch<Tx>,
  crashSuspects: CrashSuspects | null,
  reach: Reach,
): Checkpoints {
  // Sources without positions never call these; the others are refused at start where the store has none.
  const rows = () => store.checkpoints!
  return {
    async take(partitions) {
      const taken = await watch.persist(() => rows().take(enrolment, partitions))
      reach('checkpoint.taken')
      crashSuspects?.partitionsTaken(taken)
      return taken
    },
    begin(partition, epoch, position) {
      reach('checkpoint.confirmed')
      return watch.persist(() => rows().begin(enrolment, partition, epoch, position))
    },
    withdrawLoss: (partition, epoch, from, reason) =>
      watch.persist(() => rows().withdrawLoss(enrolment, partition, epoch, from, reason)),
    declareLoss: loss => watch.persist(() => rows().declareLoss(enrolment, loss)),
  }
}

/** Which position a log source resumes from. */
export function progressOf({ dedup, settle }: Pick<Consumer, 'dedup' | 'settle'>): LogOptions['progress'] {
  if (dedup === 'checkpoint') return 'only'
  if (settle.when === 'before effect') return 'first'
  return settle.when === 'with effect' ? 'store' : 'broker'
}
