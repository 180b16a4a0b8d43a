import type { Transform } from '../../contract/define-transform.ts'
import type { Environment } from '../../environment.ts'
import type { ReadableMessage, Received } from '../../message/received.ts'
import type { Enrolment } from '../../ports/enrolment.ts'
import type { Decided } from '../batch/batch-attempt.ts'
import type { Decision, Fact } from '../batch/outcome.ts'
import { BrakeWatch } from '../consumer/brake-watch.ts'
import { Brakes, type BrakeView } from '../retry/brakes.ts'
import { typeOf } from '../retry/type-pause.ts'
import type { HoldBack, MappedRecord } from './map-records.ts'

/** A released partition starts within this time; while it waits, only its first record is read. */
const pollMs = 1_000

/** The broker finds these when the outputs are written: mapping alone shows nothing. */
const foundByBroker = /^publish_/

/**
 * The brake of a transform. A partition stops at a record of a paused type, because later ones may not pass
 * it. Their heads may all be faulty, so records behind them are tried too: they are mapped, and their outputs
 * are dropped. Each process has its own evidence; without a store there is no record of a pause.
 */
export class TransformBrake<M> {
  readonly #brakes: Brakes
  readonly #watch: BrakeWatch

  constructor(transform: Transform<M>, env: Environment) {
    this.#brakes = new Brakes(transform.failure, env.clock, keyOf)
    this.#watch = new BrakeWatch(
      this.#brakes,
      null,
      { facts: transform } as never as Enrolment,
      env,
      () => {},
    )
  }

  get engaged(): readonly BrakeView[] {
    return this.#brakes.engaged
  }

  /** For the records of one plan, one after the other. */
  holdBack(): HoldBack<M> {
    const facts = new Map<Received<M>, Fact>()
    return {
      factOf: received => {
        this.#brakes.holdBack([received], facts, () => new Set([received]))
        return facts.get(received) ?? null
      },
      ended: (received, fact) => void facts.set(received, fact),
    }
  }

  /** The partition waits for a paused type, and a record behind the first one may be tried. */
  wantsAhead({ received, fact }: MappedRecord<M, unknown>): ((ahead: ReadableMessage<M>) => boolean) | null {
    const type = typeOf(received)
    const paused = this.engaged.find(one => one.type === type)
    if (paused === undefined || foundByBroker.test(paused.cause)) return null
    if (fact.kind !== 'braked' && fact.kind !== 'failed') return null
    return ahead => typeOf(ahead) === type && this.#brakes.wantsAhead(ahead)
  }

  triedAhead({ received, fact }: MappedRecord<M, unknown>): void {
    const event = this.#brakes.triedAhead(received, fact)
    if (event !== null) this.#watch.learned([event])
  }

  /** The waits of failed probes, which count no attempt. */
  failedProbes(facts: ReadonlyMap<Received<M>, Fact>): ReadonlyMap<Received, number> {
    return this.#brakes.failedProbes(facts)
  }

  /** The waits of failures that complete the evidence of a mass failure. */
  overrule(decisions: ReadonlyMap<Received, Decision>): ReadonlyMap<Received, number> {
    return this.#brakes.overrule(decisions)
  }

  /** Also records behind the one at which their partition stops: they are evidence too. */
  learn(decided: readonly Decided<M>[]): void {
    this.#watch.learned(this.#brakes.learn(decided as readonly Decided[]))
  }

  /** The stop of a partition at a record of a paused type. */
  static waitMs({ retryDelayMs }: Decision): number {
    return Math.min(pollMs, retryDelayMs)
  }
}

/** A transform needs no order key: the key of its record names the entity. */
function keyOf(received: Received): string {
  return (received.readable ? received.orderKey : null) ?? received.delivery.key ?? received.id!
}
