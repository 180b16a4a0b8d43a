import type { Environment } from '../../environment.ts'
import type { Received } from '../../message/received.ts'
import type { Enrolment } from '../../ports/enrolment.ts'
import type { Store } from '../../ports/store.ts'
import { type EarlierAttempts, processDied } from '../../ports/suspects.ts'
import type { Decided } from '../batch/batch-attempt.ts'
import type { Lanes } from '../consumer/lanes.ts'
import type { StoreWatch } from '../consumer/store-watch.ts'
import type { CrashSuspects } from './crash-suspects.ts'
import { GroupRoom } from './suspect-groups.ts'

/**
 * Suspects whose attempt is on record: one alone, or a group. `killed`, only for one alone: its budget is
 * used up and its process crashed, so its handler does not run.
 */
export interface SuspectTry {
  readonly killed: EarlierAttempts | null
}

export interface SuspectRunnerOptions<Tx> {
  readonly crashSuspects: CrashSuspects
  readonly store: Store<Tx>
  readonly enrolment: Enrolment
  readonly watch: StoreWatch<Tx>
  readonly env: Environment
  readonly lanes: Lanes
  readonly attemptsMax: number
  /** Most bytes of bodies in one group. */
  readonly bytesMax: number
}

type Run<M> = (
  suspect: SuspectTry,
  onDecided: (decided: readonly Decided<M>[]) => void,
) => Promise<readonly Decided<M>[]>

/**
 * Tries messages that may have crashed their process, while nothing else runs. They run in groups, and a
 * group is recorded before its handlers run. After a crash, the next process tries its messages in groups of
 * half the size, so that the cause is alone after log2 n crashes. Only an attempt of a message that was alone
 * counts against it. The transaction that decides a message withdraws its record. A record that remains
 * therefore means a crash, and a message that completes is not blamed.
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
    return this.#options.crashSuspects.any
  }

  /** Unreadable bytes reach no handler. */
  readonly isSuspect = (received: Received): boolean =>
    received.readable && this.#options.crashSuspects.suspects(received.delivery)

  /** Reads how large a group each suspect may be in, before any can be taken. */
  async learn(read: readonly Received<M>[]): Promise<void> {
    const { crashSuspects, store, enrolment, watch } = this.#options
    const suspects = read.filter(this.isSuspect)
    if (suspects.length === 0) return
    const ids = suspects.map(({ id }) => id!)
    const limits = await watch.persist(() => store.suspects!.groupLimits(enrolment, ids))
    for (const { id, delivery } of suspects) {
      const limit = limits.get(id!)
      if (limit !== undefined) crashSuspects.limitGroup(delivery, limit)
    }
  }

  /** Suspects go first: returns a group if nothing else runs, and `wait` while something does. */
  next(batchesInFlight: number, countMax: number): readonly Received<M>[] | 'wait' | null {
    const { lanes, crashSuspects, bytesMax } = this.#options
    if (!this.any) return null
    if (batchesInFlight > 0) return lanes.some(this.isSuspect) ? 'wait' : null
    const room = new GroupRoom(countMax, bytesMax)
    const group = lanes.cutGroup(
      received =>
        this.isSuspect(received) &&
        room.take(crashSuspects.groupLimit(received.delivery), received.delivery.body.length),
    )
    this.#underWay = group.length === 0 ? null : (group as Received<M>[])
    return this.#underWay
  }

  /** Rejects only if the attempt could not be recorded; nothing was tried then. */
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

  /** Returns the earlier attempts of a message that must not be tried again. */
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
   * The broker withdrew these, their partition moved to another owner, or the process stops. None crashed it.
   */
  async #withdrawUndecided(group: readonly Received<M>[], decided: readonly Decided<M>[]): Promise<void> {
    const { store, enrolment } = this.#options
    const through = new Set(decided.map(({ received }) => received))
    const ids = group.filter(received => !through.has(received)).map(({ id }) => id!)
    if (ids.length > 0)
      await store.transaction(enrolment, session => session.suspects!.withdrawAttempts(ids)).catch(() => {})
  }

  #judge({ received, decision }: Decided<M>, { killed }: SuspectTry): void {
    const { crashSuspects, env, enrolment } = this.#options
    if (killed === null || decision.code !== processDied) return crashSuspects.cleared(received.delivery)
    if (decision.outcome === 'retry') return crashSuspects.keep(received.delivery)
    const consumer = enrolment.facts.name
    crashSuspects.explained(received.delivery)
    env.metrics.add('parkedSuspects', 1, { consumer })
    env.log.error('the message that crashed its process is parked', {
      consumer,
      messageId: received.id,
      deaths: killed.deaths,
    })
  }
}
