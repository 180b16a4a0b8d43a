import { OncewardError } from '../../errors.ts'
import type { Received } from '../../message/received.ts'
import { messagingSystem } from '../../ports/messaging-system.ts'
import type { Delivery } from '../../ports/source.ts'
import type { TransformPlan, TransformStop, TransformWork } from '../../ports/transform.ts'
import type { Decided } from '../batch/batch-attempt.ts'
import type { Decision, Fact, Outcome } from '../batch/outcome.ts'
import { reportOutage } from '../consumer/report-outage.ts'
import { Breaker, type BreakerView } from '../retry/breaker.ts'
import { DecidedHalt } from '../retry/halt-cause.ts'
import { type BatchTime, type Counted, decisionCounter } from '../settle/count-decided.ts'
import { logDecided } from '../settle/log-decided.ts'
import { AttemptCounts } from './attempt-counts.ts'
import { decideTransform } from './decide-transform.ts'
import { type MapOptions, type MappedRecord, RecordMapper } from './map-records.ts'

export interface TransformBatchesOptions<M, Out> extends MapOptions<M, Out> {
  /**
   * The record for the dead-letter topic; null when not even its headers fit there. It failed for the first
   * time `failingForMs` ago.
   */
  readonly toDeadLetter: (received: Received<M>, decision: Decision, failingForMs: number) => Out | null
}

interface Decisions<Out> extends TransformPlan<Out> {
  readonly decided: readonly Decided[]
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
 * A paused dependency stops every partition and counts no attempt. Nothing is counted, logged or reported
 * before its transaction is committed: a batch that is read again is decided again.
 */
export class TransformBatches<M, Out> implements TransformWork<Out> {
  readonly #options: TransformBatchesOptions<M, Out>
  readonly #mapper: RecordMapper<M, Out>
  readonly #attempts: AttemptCounts
  readonly #breaker: Breaker
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
    const mapped = await Promise.all(lanes.map(lane => this.#mapper.mapAll(lane)))
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
    if (committed) this.#settle(plan.decided)
    return committed
  }

  #decide(
    lanes: readonly (readonly Delivery[])[],
    mapped: readonly (readonly MappedRecord<M, Out>[])[],
  ): Decisions<Out> {
    const outageMs = this.#outageMs(mapped.flat())
    const outputs: Out[] = []
    const decided: Decided<M>[] = []
    const stops = new Map<string, TransformStop>()
    let halt: OncewardError | null = null
    for (const [index, lane] of lanes.entries()) {
      let done = 0
      let delayMs = 0
      for (const { received, fact, outputs: its } of mapped[index]!) {
        const waitMs = outageMs ?? this.#breaker.databaseOutageMs(received, fact)
        const attempt = this.#attempts.next(received, fact, waitMs)
        const decision = decideTransform(fact, attempt, this.#options.transform.failure)
        const written = this.#written(received, decision, its)
        if (written === null) {
          halt ??= this.#halted(received, decision)
          break
        }
        decided.push({ received, decision, copied: isSetAside.has(decision.outcome) })
        delayMs = decision.retryDelayMs
        if (decision.outcome === 'retry') break
        outputs.push(...written)
        done++
      }
      if (done < lane.length) stops.set(lane[done]!.partition, { at: Number(lane[done]!.place!.at), delayMs })
    }
    return { outputs, stops, halt, decided }
  }

  #outageMs(mapped: readonly MappedRecord<M, Out>[]): number | null {
    if (!mapped.some(({ fact }) => fact.kind === 'failed')) return null
    const facts = new Map<Received, Fact>(mapped.map(({ received, fact }) => [received, fact]))
    return this.#breaker.outageMs(facts, true)
  }

  /** What the record adds to the transaction; null when the transform must halt at it. */
  #written(received: Received<M>, decision: Decision, outputs: readonly Out[]): readonly Out[] | null {
    if (decision.outcome === 'halted') return null
    if (!isSetAside.has(decision.outcome)) return outputs
    const letter = this.#options.toDeadLetter(received, decision, this.#attempts.failingForMs(received))
    return letter === null ? null : [letter]
  }

  #settle(decided: readonly Decided[]): void {
    const { transform, env } = this.#options
    this.#attempts.keep()
    logDecided(transform.name, decided, env.log)
    const time = { seconds: (env.clock.nowMs() - this.#beganMs) / 1_000, stage: 'inline' }
    for (const [outcome, count] of this.#count(decided as readonly Decided<M>[], time).outcomes)
      this.#outcomes[outcome] = (this.#outcomes[outcome] ?? 0) + count
    const event = this.#breaker.learn(decided, true)
    if (event !== null) reportOutage(event, this.#breaker, transform, env)
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

function isRefusal(error: unknown): boolean {
  return error instanceof OncewardError && refusals.has(error.code)
}
