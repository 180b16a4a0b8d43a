import type { Environment } from '../environment.ts'
import type { Store } from '../ports/store.ts'
import type { LeasedRows } from './leased-rows.ts'

export interface WorkLeaseOptions {
  readonly store: Store<never>
  readonly env: Environment
  readonly consumerName: string
  readonly leaseMs: number
}

/** Extends the leases of what is claimed every third of their time. Answers with what ends it. */
export function keepLeases(work: LeasedRows, options: WorkLeaseOptions): () => void {
  const { store, env, leaseMs } = options
  /** Each on its own: one that hangs does not hold up the next, and one that fails changes nothing. */
  const beat = async () => {
    const { claims } = work
    if (claims.length === 0) return
    const gone = await store.work!.extend(claims, leaseMs).catch(() => [])
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
  env.log.warn('claims lost: the lease ran out before the work was done', {
    consumer: consumerName,
    count,
  })
}
