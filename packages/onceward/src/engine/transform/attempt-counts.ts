import type { FailureRules } from '../../contract/failure-rules.ts'
import type { Clock } from '../../environment.ts'
import type { Received } from '../../message/received.ts'
import { type AttemptFacts, countsAsAttempt, noAttempts } from '../batch/decide-outcome.ts'
import type { Fact } from '../batch/outcome.ts'

/** The failed attempts of the record at which a partition stands. */
interface Count {
  readonly at: string
  readonly total: number
  readonly byClass: Readonly<Record<string, number>>
  readonly same: number
  readonly kind: string
  /** The clock at the first one. */
  readonly sinceMs: number
}

/**
 * Counts attempts in memory, of one record per partition: later records wait behind it. A new process or a
 * new owner of the partition begins again, so a record is tried a bounded number of times by each of them.
 * Rejected: counts in the metadata of committed offsets. Each failed attempt would need a transaction.
 */
export class AttemptCounts {
  readonly #failure: FailureRules
  readonly #random: () => number
  readonly #clock: Clock
  readonly #counts = new Map<string, Count>()
  #pending = new Map<string, Count | null>()

  constructor(failure: FailureRules, random: () => number, clock: Clock) {
    this.#failure = failure
    this.#random = random
    this.#clock = clock
  }

  /** The attempts including this one, unless it was a probe. Nothing is counted before `keep`. */
  next({ delivery }: Received, fact: Fact, outageMs: number | null, isProbe = false): AttemptFacts {
    const { partition } = delivery
    const at = delivery.place!.at
    const before = this.#counts.get(partition)
    if (before === undefined && fact.kind === 'handled') return noAttempts
    const known = before?.at === at ? before : null
    if (isProbe || !countsAsAttempt(fact, this.#failure, outageMs)) {
      if (known !== null && fact.kind === 'handled') this.#pending.set(partition, null)
      return { ...facts(known), random: this.#random(), outageMs }
    }
    const kind = kindOf(fact)
    const of = fact.kind === 'failed' ? fact.failure.class : fact.kind
    const count = {
      at,
      total: (known?.total ?? 0) + 1,
      byClass: { ...known?.byClass, [of]: (known?.byClass[of] ?? 0) + 1 },
      same: known?.kind === kind ? known.same + 1 : 1,
      kind,
      sinceMs: known?.sinceMs ?? this.#clock.nowMs(),
    }
    this.#pending.set(partition, count)
    return { ...facts(count), random: this.#random(), outageMs }
  }

  /** How long ago the record failed for the first time. */
  failingForMs({ delivery }: Received): number {
    const count = this.#counts.get(delivery.partition)
    return count?.at === delivery.place!.at ? this.#clock.nowMs() - count.sinceMs : 0
  }

  /** Forgets what `next` counted for a plan that was not committed. */
  drop(): void {
    this.#pending = new Map()
  }

  keep(): void {
    for (const [partition, count] of this.#pending) {
      if (count === null) this.#counts.delete(partition)
      else this.#counts.set(partition, count)
    }
    this.drop()
  }
}

function facts(count: Count | null): AttemptFacts {
  if (count === null) return noAttempts
  const { total, byClass, same } = count
  return { ...noAttempts, total, byClass, same }
}

function kindOf(fact: Fact): string {
  if (fact.kind !== 'failed') return fact.kind
  const { class: of, code, place } = fact.failure
  return `${of}\0${code}\0${place}`
}
