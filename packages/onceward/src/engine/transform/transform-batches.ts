import { OncewardError } from '../../errors.ts'
import type { Received } from '../../message/received.ts'
import { messagingSystem } from '../../ports/messaging-system.ts'
import type { Delivery } from '../../ports/source.ts'
import type { TransformPlan, TransformStop, TransformWork } from '../../ports/transform.ts'
import type { Decided } from '../batch/batch-attempt.ts'
import type { AttemptFacts } from '../batch/decide-outcome.ts'
import type { Decision, Fact, Outcome } from '../batch/outcome.ts'
import { reportOutage } from '../consumer/report-outage.ts'
import type { BrakeView } from '../retry/brakes.ts'
import { Breaker, type BreakerView } from '../retry/breaker.ts'
import { DecidedHalt } from '../retry/halt-cause.ts'
import { type BatchTime, type Counted, decisionCounter } from '../settle/count-decided.ts'
import { logDecided } from '../settle/log-decided.ts'
import { AttemptCounts } from './attempt-counts.ts'
import { decideTransform } from './decide-transform.ts'
import { type MapOptions, type MappedRecord, RecordMapper } from './map-records.ts'
import { TransformBrake } from './transform-brake.ts'

export interface TransformBatchesOptions<M, Out> extends MapOptions<M, Out> {
  /**
   * The record for the dead-letter topic; null when not even its headers fit there. It failed for the first
   * time `failingForMs` ago.
   */
  readonly toDeadLetter: (received: Received<M>, decision: Decision, failingForMs: number) => Out | null
}

interface Decisions<Out> extends TransformPlan<Out> {
  readonly decided: readonly Decided[]
  /** All decisions, also those behind a stop: what the brake learns from. */
  readonly evidence: readonly Decided[]
}

interface Judged<M, Out> extends MappedRecord<M, Out> {
  readonly attempt: AttemptFacts
  readonly decision: Decision
}

const refusals: ReadonlySet<string> = new Set(['publish_refused', 'publish_unroutable'])
const isSetAside: ReadonlySet<Outcome> = new Set(['dead-lettered', 'quarantined'])

/**
 * The failure policy of a transform:
 *
 *   read ─▶ map ─▶ decide ─┬─ applied, ignored ──▶ outputs ──────┐
 *                          ├─ set aside ──▶ dead letter ─────────┼─▶ one transaction with the offsets
 *                          ├─ retry ──▶ its partition stops here ┘   and waits; others continue
 *                          └─ halted ──▶ the same, then the transform ends
 *
 * A paused dependency stops every partition and counts no attempt; a mass failure stops those with a record
 * of its type (`transform-brake.ts`). Nothing is counted, logged or reported
 * before its transaction is committed: a batch that is read again is decided again.
 */
export class TransformBatches<M, Out> implements TransformWork<Out> {
  readonly #options: TransformBatchesOptions<M, Out>
  readonly #mapper: RecordMapper<M, Out>
  readonly #attempts: AttemptCounts
  readonly #breaker: Breaker
  readonly #brake: TransformBrake<M>
  readonly #count: (decided: readonly Decided<M>[], time: BatchTime) => Counted
  readonly #outcomes: Record<string, number> = {}
  /** A transform runs one batch at a time. */
  #beganMs = 0

  constructor(options: TransformBatchesOptions<M, Out>) {
    const { transform, env } = options
    this.#options = options
    this.#mapper = new RecordMapper(options)
    this.#attempts = new AttemptCounts(transform.failure, env.random, env.clock)
    this.#breaker = new Breaker(transform.failure, env.clock)
    this.#brake = new TransformBrake(transform, env)
    this.#count = decisionCounter(transform as never, env.metrics, false)
  }

  get room(): number {
    return this.#breaker.room
  }

  get waitMs(): number {
    return Math.max(1, this.#breaker.waitMs)
  }

  get breaker(): BreakerView['state'] {
    return this.#breaker.view.state
  }

  get braked(): readonly BrakeView[] {
    return this.#brake.engaged
  }

  get outcomes(): Readonly<Record<string, number>> {
    return { ...this.#outcomes }
  }

  received(count: number): void {
    const { transform, env } = this.#options
    const { topic } = transform.source as unknown as { readonly topic: string }
    const labels = { consumer: transform.name, 'messaging.system': this.#system }
    env.metrics.add('deliveries', count, { ...labels, 'messaging.destination.name': topic })
  }

  async run(
    batch: readonly Delivery[],
    commit: (plan: TransformPlan<Out>) => Promise<boolean>,
  ): Promise<boolean> {
    const { transform, env } = this.#options
    const destination = batch[0]!.origin
    const attributes = {
      'messaging.system': this.#system,
      'messaging.operation.name': 'process',
      'messaging.operation.type': 'process',
      'messaging.destination.name': destination,
      'messaging.consumer.group.name': transform.name,
      'messaging.batch.message_count': batch.length,
    }
    const about = { count: batch.length, headersOf: (index: number) => batch[index]!.headers }
    this.#beganMs = env.clock.nowMs()
    return env.traces.span({ name: `process ${destination}`, kind: 'process', attributes, about }, () =>
      this.#plan(batch, commit),
    )
  }

  async #plan(
    batch: readonly Delivery[],
    commit: (plan: TransformPlan<Out>) => Promise<boolean>,
  ): Promise<boolean> {
    const { transform, env } = this.#options
    const beganMs = env.clock.nowMs()
    const lanes = [...Map.groupBy(batch, ({ partition }) => partition).values()]
    const mapped = await this.#mapAll(lanes)
    env.metrics.record('applyLatency', (env.clock.nowMs() - beganMs) / 1_000, { consumer: transform.name })
    try {
      return await this.#commit(this.#decide(lanes, mapped), commit)
    } catch (error) {
      // Of several records, the driver finds the one at fault by smaller batches.
      if (batch.length > 1 || !isRefusal(error)) throw error
      const one = await this.#mapper.refused(batch[0]!, error)
      return this.#commit(this.#decide([batch], [[one]]), commit)
    }
  }

  async #mapAll(lanes: readonly (readonly Delivery[])[]): Promise<(readonly MappedRecord<M, Out>[])[]> {
    if (this.#brake.engaged.length === 0) return Promise.all(lanes.map(lane => this.#mapper.mapAll(lane)))
    // One after the other, so that one probe fails at a time.
    const hold = this.#brake.holdBack()
    const mapped: (readonly MappedRecord<M, Out>[])[] = []
    for (const lane of lanes) {
      const records = await this.#mapper.mapAll(lane, hold)
      mapped.push(records)
      const isWanted = this.#brake.wantsAhead(records.at(-1)!)
      const ahead =
        isWanted === null ? null : await this.#mapper.tryAhead(lane.slice(records.length), isWanted)
      if (ahead !== null) this.#brake.triedAhead(ahead)
    }
    return mapped
  }

  async #commit(
    plan: Decisions<Out>,
    commit: (plan: TransformPlan<Out>) => Promise<boolean>,
  ): Promise<boolean> {
    let committed = false
    try {
      committed = await commit(plan)
    } finally {
      if (!committed) this.#attempts.drop()
    }
    if (committed) this.#settle(plan)
    return committed
  }

  #decide(
    lanes: readonly (readonly Delivery[])[],
    mapped: readonly (readonly MappedRecord<M, Out>[])[],
  ): Decisions<Out> {
    const judged = this.#judge(mapped)
    const outputs: Out[] = []
    const decided: Decided<M>[] = []
    const stops = new Map<string, TransformStop>()
    let halt: OncewardError | null = null
    for (const [index, lane] of lanes.entries()) {
      let done = 0
      let delayMs = 0
      for (const { received, fact, decision, outputs: its } of judged[index]!) {
        const written = this.#written(received, decision, its)
        if (written === null) {
          halt ??= this.#halted(received, decision)
          break
        }
        const waits = fact.kind === 'braked' || decision.braked
        delayMs = waits ? TransformBrake.waitMs(decision) : decision.retryDelayMs
        // It was not tried.
        if (fact.kind === 'braked') break
        decided.push({ received, decision, copied: isSetAside.has(decision.outcome) })
        if (decision.outcome === 'retry') break
        outputs.push(...written)
        done++
      }
      if (done < lane.length) stops.set(lane[done]!.partition, { at: Number(lane[done]!.place!.at), delayMs })
    }
    return { outputs, stops, halt, decided, evidence: judged.flat() }
  }

  /** Decides each record; the last one of a partition may have to wait. */
  #judge(mapped: readonly (readonly MappedRecord<M, Out>[])[]): readonly (readonly Judged<M, Out>[])[] {
    const { failure } = this.#options.transform
    const outageMs = this.#outageMs(mapped.flat())
    const probes = this.#brake.failedProbes(factsOf(mapped.flat()))
    const judge = (one: MappedRecord<M, Out>): Judged<M, Out> => {
      const { received, fact } = one
      const waitMs = outageMs ?? this.#breaker.databaseOutageMs(received, fact)
      const brakedMs = probes.get(received) ?? null
      const counted = this.#attempts.next(received, fact, waitMs, brakedMs !== null)
      const attempt = { ...counted, brakedMs }
      return { ...one, attempt, decision: decideTransform(fact, attempt, failure) }
    }
    const judged = mapped.map(lane => lane.map(judge))
    const waits = this.#brake.overrule(new Map(judged.flat().map(one => [one.received, one.decision])))
    if (waits.size === 0) return judged
    const overruled = (one: Judged<M, Out>): Judged<M, Out> => {
      const brakedMs = waits.get(one.received)
      if (brakedMs === undefined) return one
      return { ...one, decision: decideTransform(one.fact, { ...one.attempt, brakedMs }, failure) }
    }
    return judged.map(lane => lane.map(overruled))
  }

  #outageMs(mapped: readonly MappedRecord<M, Out>[]): number | null {
    if (!mapped.some(({ fact }) => fact.kind === 'failed')) return null
    return this.#breaker.outageMs(factsOf(mapped), true)
  }

  /** What the record adds to the transaction; null when the transform must halt at it. */
  #written(received: Received<M>, decision: Decision, outputs: readonly Out[]): readonly Out[] | null {
    if (decision.outcome === 'halted') return null
    if (!isSetAside.has(decision.outcome)) return outputs
    const letter = this.#options.toDeadLetter(received, decision, this.#attempts.failingForMs(received))
    return letter === null ? null : [letter]
  }

  #settle({ decided, evidence }: Decisions<Out>): void {
    const { transform, env } = this.#options
    this.#attempts.keep()
    logDecided(transform.name, decided, env.log)
    const time = { seconds: (env.clock.nowMs() - this.#beganMs) / 1_000, stage: 'inline' }
    for (const [outcome, count] of this.#count(decided as readonly Decided<M>[], time).outcomes)
      this.#outcomes[outcome] = (this.#outcomes[outcome] ?? 0) + count
    const event = this.#breaker.learn(decided, true)
    if (event !== null) reportOutage(event, this.#breaker, transform, env)
    this.#brake.learn(evidence as readonly Decided<M>[])
  }

  #halted(received: Received, { failureClass, code, reason, attempts }: Decision): DecidedHalt {
    const { transform } = this.#options
    const { deadLetter } = transform.failure
    const tried = attempts > 1 ? ` after ${attempts} attempts` : ''
    const advice =
      deadLetter === null
        ? 'It has no dead-letter topic: fix the cause, or name one in failure.deadLetter, and start again.'
        : `Fix the cause, and start again.`
    return new DecidedHalt(
      `Transform ${transform.name} halted at ${received.delivery.position}${tried} on a ${failureClass} failure (${code}): ${reason}\nNothing of this record is visible and its offset is not committed; records before it are. ${advice}`,
      { details: { code, position: received.delivery.position } },
    )
  }

  get #system(): string {
    return messagingSystem(this.#options.transform.source.kind)
  }
}

function factsOf<M>(mapped: readonly MappedRecord<M, unknown>[]): Map<Received<M>, Fact> {
  return new Map(mapped.map(({ received, fact }) => [received, fact]))
}

function isRefusal(error: unknown): boolean {
  return error instanceof OncewardError && refusals.has(error.code)
}
