import type { Environment } from '../environment.ts'
import type { Store } from '../ports/store.ts'
import type { LeasedRows } from './leased-rows.ts'

export interface WorkLeaseOptions {
  readonly store: Store<never>
  readonly env: Environment
  readonly consumerName: string
  readonly leaseMs: number
}

/** Extends the leases every third of their duration. Returns a function that stops it. */
export function keepLeases(work: LeasedRows, options: WorkLeaseOptions): () => void {
  const { store, env, leaseMs } = options
  /** Independent of each other: an extension that hangs does not delay the next one. */
  const beat = async () => {
    const { leases } = work
    if (leases.length === 0) return
    const gone = await store.work!.extend(leases, leaseMs).catch(() => [])
    reportLost(work.notOurs(gone), options)
  }
  return every(leaseMs / 3, beat, env)
}

function every(periodMs: number, work: () => Promise<void>, { timers }: Environment): () => void {
  let cancel = () => {}
  const later = () => {
    cancel = timers.after(periodMs, () => {
      later()
      void work()
    })
  }
  later()
  return () => cancel()
}

export function reportLost(count: number, { env, consumerName }: WorkLeaseOptions): void {
  if (count === 0) return
  env.metrics.add('leasesLost', count, { consumer: consumerName })
  env.log.warn('leases lost: they expired before the work was finished', {
    consumer: consumerName,
    count,
  })
}
