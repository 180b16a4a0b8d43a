import type { Environment } from '../../environment.ts'
import type { Received } from '../../message/received.ts'
import type { Enrolment, Store } from '../../ports/store.ts'
import { type EarlierAttempts, processDied } from '../../ports/suspects.ts'
import type { Decided } from '../batch/batch-attempt.ts'
import type { Lanes } from '../consumer/lanes.ts'
import type { StoreWatch } from '../consumer/store-watch.ts'
import type { CrashSuspects } from './crash-suspects.ts'
import { GroupRoom } from './suspect-groups.ts'

/**
 * Suspects whose attempt is on record, one alone or a group. With `killed`, of one alone, the budget is used
 * up and its process died: its handler does not run.
 */
export interface SuspectTry {
  readonly killed: EarlierAttempts | null
}

export interface SuspectRunnerOptions<Tx> {
  readonly suspicion: CrashSuspects
  readonly store: Store<Tx>
  readonly enrolment: Enrolment
  readonly watch: StoreWatch<Tx>
  readonly env: Environment
  readonly lanes: Lanes
  readonly attemptsMax: number
  /** Of the bodies of one group. */
  readonly bytesMax: number
}

type Run<M> = (
  suspect: SuspectTry,
  onDecided: (decided: readonly Decided<M>[]) => void,
) => Promise<readonly Decided<M>[]>

/**
 * Takes messages that may have killed their process, with nothing else under way. They go in groups, and a
 * group is on record before its handlers run: when the process dies the next one tries its messages in groups
 * of half the size, so that the cause is alone after log2 n deaths. Only the attempt of a message that was
 * alone counts against it. Either record is taken back in the transaction that decides the message: what is
 * found of it later is a death, and whoever gets through is not blamed.
 */
export class SuspectRunner<M, Tx> {
  readonly #options: SuspectRunnerOptions<Tx>
  #underWay: readonly Received<M>[] | null = null

  constructor(options: SuspectRunnerOptions<Tx>) {
    this.#options = options
  }

  get busy(): boolean {
    return this.#underWay !== null
  }

  get any(): boolean {
    return this.#options.suspicion.any
  }

  /** Bytes that cannot be read reach no handler. */
  readonly isSuspect = (received: Received): boolean =>
    received.readable && this.#options.suspicion.suspects(received.delivery)

  /** Finds out how large a group each of these may be in, before they can be taken. */
  async learn(read: readonly Received<M>[]): Promise<void> {
    const { suspicion, store, enrolment, watch } = this.#options
    const suspects = read.filter(this.isSuspect)
    if (suspects.length === 0) return
    const ids = suspects.map(({ id }) => id!)
    const limits = await watch.persist(() => store.suspects!.groupLimits(enrolment, ids))
    for (const { id, delivery } of suspects) {
      const limit = limits.get(id!)
      if (limit !== undefined) suspicion.limitGroup(delivery, limit)
    }
  }

  /** Suspects go first: takes a group when nothing else is under way, and says `wait` while something is. */
  next(batchesInFlight: number, countMax: number): readonly Received<M>[] | 'wait' | null {
    const { lanes, suspicion, bytesMax } = this.#options
    if (!this.any) return null
    if (batchesInFlight > 0) return lanes.some(this.isSuspect) ? 'wait' : null
    const room = new GroupRoom(countMax, bytesMax)
    const group = lanes.cutGroup(
      received =>
        this.isSuspect(received) &&
        room.take(suspicion.groupLimit(received.delivery), received.delivery.body.length),
    )
    this.#underWay = group.length === 0 ? null : (group as Received<M>[])
    return this.#underWay
  }

  /** Rejects only when the attempt could not be put on record; then nothing was tried. */
  async run(group: readonly Received<M>[], run: Run<M>): Promise<void> {
    const { env, enrolment } = this.#options
    try {
      const suspect = { killed: group.length === 1 ? await this.#beginAlone(group[0]!) : null }
      if (group.length > 1) await this.#beginGroup(group)
      env.metrics.add('suspects', group.length, { consumer: enrolment.facts.name })
      const decided = await run(suspect, decided => {
        this.#underWay = null
        for (const one of decided) this.#judge(one, suspect)
      })
      await this.#withdrawUndecided(group, decided)
    } finally {
      if (this.#underWay === group) this.#underWay = null
    }
  }

  /** Answers with its deaths when it may not be tried any more. */
  async #beginAlone({ id }: Received<M>): Promise<EarlierAttempts | null> {
    const { store, enrolment, watch, env, attemptsMax } = this.#options
    const earlier = await watch.persist(() => store.suspects!.beginAttempt(enrolment, id!, attemptsMax))
    env.reach('suspect.counted')
    return earlier.deaths > 0 && earlier.attempts >= attemptsMax ? earlier : null
  }

  async #beginGroup(group: readonly Received<M>[]): Promise<void> {
    const { store, enrolment, watch, env } = this.#options
    const ids = group.map(({ id }) => id!)
    await watch.persist(() => store.suspects!.beginGroup(enrolment, ids, group.length))
    env.reach('suspect.grouped')
  }

  /**
   * The broker took these back, their partition went to another owner, or we are leaving. Nobody died of
   * them.
   */
  async #withdrawUndecided(group: readonly Received<M>[], decided: readonly Decided<M>[]): Promise<void> {
    const { store, enrolment } = this.#options
    const through = new Set(decided.map(({ received }) => received))
    const ids = group.filter(received => !through.has(received)).map(({ id }) => id!)
    if (ids.length > 0)
      await store.transaction(enrolment, session => session.withdrawAttempts!(ids)).catch(() => {})
  }

  #judge({ received, decision }: Decided<M>, { killed }: SuspectTry): void {
    const { suspicion, env, enrolment } = this.#options
    if (killed === null || decision.code !== processDied) return suspicion.cleared(received.delivery)
    if (decision.outcome === 'retry') return suspicion.keep(received.delivery)
    const consumer = enrolment.facts.name
    suspicion.explained(received.delivery)
    env.metrics.add('parkedSuspects', 1, { consumer })
    env.log.error('the message that killed its process is parked', {
      consumer,
      messageId: received.id,
      deaths: killed.deaths,
    })
  }
}
