import type { Enrolment, Store } from '../contracts/store.ts'
import type { Surroundings } from '../surroundings.ts'
import type { ClaimedWork } from './claimed-work.ts'

export interface LeaseOptions {
  readonly store: Store<never>
  readonly world: Surroundings
  readonly consumerName: string
  readonly leaseMs: number
}

const freshnessMs = 5_000

/** Extends the leases of what is claimed every third of their time, and watches the age of the oldest work. Answers with what ends it. */
export function keepLeases(work: ClaimedWork, enrolment: Enrolment, options: LeaseOptions): () => void {
  const { store, world, consumerName, leaseMs } = options
  let oldestSeconds: number | null = null
  /** Each on its own: one that hangs does not hold up the next, and one that fails changes nothing. */
  const beat = async () => {
    const { claims } = work
    if (claims.length === 0) return
    const gone = await store.work!.extend(claims, leaseMs).catch(() => [])
    reportLost(work.notOurs(gone), options)
  }
  const look = async () => {
    oldestSeconds = await store.work!.oldestSeconds(enrolment).catch(() => oldestSeconds)
  }
  const ends = [
    world.metrics.watch(['heldOldest'], see =>
      see('heldOldest', oldestSeconds ?? 0, { consumer: consumerName }),
    ),
    every(leaseMs / 3, beat, world),
    every(freshnessMs, look, world),
  ]
  return () => {
    for (const end of ends) end()
  }
}

function every(periodMs: number, work: () => Promise<void>, { timers }: Surroundings): () => void {
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

export function reportLost(count: number, { world, consumerName }: LeaseOptions): void {
  if (count === 0) return
  world.metrics.add('claimsLost', count, { consumer: consumerName })
  world.log.warn('claims lost: the lease ran out before the work was done', {
    consumer: consumerName,
    count,
  })
}
