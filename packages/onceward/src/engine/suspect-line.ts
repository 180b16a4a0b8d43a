import type { Enrolment, Store } from '../contracts/store.ts'
import { type EarlierAttempts, processDied } from '../contracts/suspects.ts'
import type { Received } from '../message/received.ts'
import type { Surroundings } from '../surroundings.ts'
import type { Lanes } from './lanes.ts'
import type { Decided } from './process-batch.ts'
import type { StoreWatch } from './store-watch.ts'
import type { Suspicion } from './suspicion.ts'

/** A suspect whose attempt is on record. With `killed` the budget is used up and its process died: its handler does not run. */
export interface SuspectTry {
  readonly id: string
  readonly killed: EarlierAttempts | null
}

export interface SuspectLineOptions<Tx> {
  readonly suspicion: Suspicion
  readonly store: Store<Tx>
  readonly enrolment: Enrolment
  readonly watch: StoreWatch<Tx>
  readonly world: Surroundings
  readonly lanes: Lanes
  readonly attemptsMax: number
}

type Run<M> = (
  suspect: SuspectTry,
  onDecided: (decided: readonly Decided<M>[]) => void,
) => Promise<readonly Decided<M>[]>

/**
 * Takes messages that may have killed their process, one at a time and alone, so that a death has one cause. The attempt of each is on record before
 * its handler runs and is taken back in the transaction that decides it: what is found of it later is a death, and whoever gets through is not blamed.
 */
export class SuspectLine<M, Tx> {
  readonly #options: SuspectLineOptions<Tx>
  #underWay: Received<M> | null = null

  constructor(options: SuspectLineOptions<Tx>) {
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

  /** Suspects go first: takes one when nothing else is under way, and says `wait` while something is. */
  next(batchesInFlight: number): Received<M> | 'wait' | null {
    const { lanes } = this.#options
    if (!this.any) return null
    if (batchesInFlight > 0) return lanes.some(this.isSuspect) ? 'wait' : null
    this.#underWay = lanes.cutOne(this.isSuspect) as Received<M> | null
    return this.#underWay
  }

  /** Rejects only when the attempt could not be put on record; then nothing was tried. */
  async run(received: Received<M>, run: Run<M>): Promise<void> {
    const { store, enrolment, watch, world, attemptsMax } = this.#options
    const id = received.id!
    try {
      const earlier = await watch.persist(() => store.suspects!.beginAttempt(enrolment, id, attemptsMax))
      world.reach('suspect.counted')
      world.metrics.add('suspects', 1, { consumer: enrolment.facts.name })
      const suspect = { id, killed: earlier.deaths > 0 && earlier.attempts >= attemptsMax ? earlier : null }
      const decided = await run(suspect, decided => {
        this.#underWay = null
        for (const one of decided) this.#judge(one, suspect)
      })
      // Nobody decided it: the broker took it back, or we are leaving. Nobody died either.
      if (decided.length === 0)
        await store.transaction(enrolment, session => session.withdrawAttempts!([id])).catch(() => {})
    } finally {
      if (this.#underWay === received) this.#underWay = null
    }
  }

  #judge({ received, decision }: Decided<M>, { killed }: SuspectTry): void {
    const { suspicion, world, enrolment } = this.#options
    if (killed === null || decision.code !== processDied) return suspicion.cleared(received.delivery)
    if (decision.outcome === 'retry') return suspicion.keep(received.delivery)
    const consumer = enrolment.facts.name
    suspicion.explained(received.delivery)
    world.metrics.add('killers', 1, { consumer })
    world.log.error('the message that killed its process is parked', {
      consumer,
      messageId: received.id,
      deaths: killed.deaths,
    })
  }
}
