import type { Transform } from '../../contract/define-transform.ts'
import type { FailureClass } from '../../contract/failure-section.ts'
import type { TransformResult } from '../../contract/transform-contract.ts'
import type { Environment } from '../../environment.ts'
import { OncewardError } from '../../errors.ts'
import { createMessageReader, type MessageReader } from '../../message/read-message.ts'
import type { ReadableMessage, Received } from '../../message/received.ts'
import type { Delivery } from '../../ports/source.ts'
import type { KafkaTransformOutput } from '../../ports/transform.ts'
import type { Fact } from '../batch/outcome.ts'
import { laneCutMs } from '../batch/run-each.ts'
import { isVerdict } from '../batch/verdicts.ts'
import { classifyFailure } from '../retry/classify-failure.ts'
import { endsAtOnce } from './decide-transform.ts'

/** One record after reading and mapping. */
export interface MappedRecord<M, Out> {
  readonly received: Received<M>
  readonly fact: Fact
  readonly outputs: readonly Out[]
}

export interface MapOptions<M, Out> {
  readonly transform: Transform<M>
  readonly env: Environment
  /** Checks an output and converts it. Throws a `usage` error for one that cannot be written. */
  readonly toOutput: (output: KafkaTransformOutput, received: ReadableMessage<M>) => Out
  /** Aborted when the transform leaves at once. */
  readonly signal: AbortSignal
}

/**
 * Classes of our own errors, unless the contract has others: the same record fails the same way, and a topic
 * that does not exist concerns every record.
 */
const ownClasses: Readonly<Record<string, FailureClass>> = {
  usage: 'poison',
  publish_refused: 'poison',
  publish_unroutable: 'configuration',
}

export interface HoldBack<M> {
  /** A fact for a record whose function must not run now, or null. */
  factOf(received: ReadableMessage<M>): Fact | null
  ended(received: Received<M>, fact: Fact): void
}

const handled: Fact = { kind: 'handled' }
const none: readonly never[] = []

/** Reads and maps the records of one partition, one after the other. */
export class RecordMapper<M, Out> {
  readonly #options: MapOptions<M, Out>
  readonly #read: MessageReader<M>
  readonly #classes: Readonly<Record<string, FailureClass>>

  constructor(options: MapOptions<M, Out>) {
    const { transform } = options
    const { handlerTimeoutMs } = transform.batch
    this.#options = options
    this.#classes = { ...ownClasses, ...transform.failure.classes }
    this.#read = createMessageReader(transform as never, (work, late, { name, extraMs }) => {
      const limitMs = handlerTimeoutMs + extraMs
      return this.#within(limitMs, work, () => late(`${name} did not finish in ${limitMs} ms`))
    })
  }

  /**
   * Ends at the first record that may have to wait or to halt, and has it as the last one. Ends early when
   * the records take long: a partition that moves to another member waits for its batch.
   */
  async mapAll(
    deliveries: readonly Delivery[],
    hold: HoldBack<M> | null = null,
  ): Promise<MappedRecord<M, Out>[]> {
    const { transform, signal, env } = this.#options
    const endMs = env.clock.nowMs() + laneCutMs
    const controller = new AbortController()
    const cut = () => controller.abort(signal.reason)
    signal.addEventListener('abort', cut, { once: true })
    const mapped: MappedRecord<M, Out>[] = []
    try {
      for (const delivery of deliveries) {
        signal.throwIfAborted()
        const one = await this.#map(delivery, controller, hold)
        mapped.push(one)
        hold?.ended(one.received, one.fact)
        if (one.fact !== handled && (controller.signal.aborted || !endsAtOnce(one.fact, transform.failure)))
          break
        if (env.clock.nowMs() > endMs) break
      }
      return mapped
    } finally {
      signal.removeEventListener('abort', cut)
    }
  }

  /**
   * Maps the first of these records that is wanted, and drops its outputs. Null when none is wanted. Its
   * function is pure, so a record may be tried before those in front of it.
   */
  async tryAhead(
    deliveries: readonly Delivery[],
    isWanted: (received: ReadableMessage<M>) => boolean,
  ): Promise<MappedRecord<M, Out> | null> {
    const { signal } = this.#options
    for (const delivery of deliveries) {
      signal.throwIfAborted()
      const received = await this.#read(delivery)
      if (!received.readable || !isWanted(received)) continue
      const controller = new AbortController()
      const cut = () => controller.abort(signal.reason)
      signal.addEventListener('abort', cut, { once: true })
      return this.#call(received, controller).finally(() => signal.removeEventListener('abort', cut))
    }
    return null
  }

  /** The record after its output was refused: as if its function had failed. */
  async refused(delivery: Delivery, error: unknown): Promise<MappedRecord<M, Out>> {
    return { received: await this.#read(delivery), fact: this.#failed(error), outputs: none }
  }

  async #map(
    delivery: Delivery,
    controller: AbortController,
    hold: HoldBack<M> | null,
  ): Promise<MappedRecord<M, Out>> {
    const read = this.#read(delivery)
    const received = read instanceof Promise ? await read : read
    if (!received.readable) return { received, fact: unreadableFact(received), outputs: none }
    const held = hold?.factOf(received) ?? null
    return held === null ? this.#call(received, controller) : { received, fact: held, outputs: none }
  }

  async #call(received: ReadableMessage<M>, controller: AbortController): Promise<MappedRecord<M, Out>> {
    const { transform, env, toOutput, signal } = this.#options
    const startedMs = env.clock.nowMs()
    try {
      const { message, envelope } = received
      const called = transform.map({ message, envelope, signal: controller.signal, log: env.log })
      const result = called instanceof Promise ? await this.#inTime(called, controller) : called
      if (isVerdict(result)) return { received, fact: { kind: 'verdict', verdict: result }, outputs: none }
      return { received, fact: handled, outputs: listOf(result).map(output => toOutput(output, received)) }
    } catch (error) {
      if (signal.aborted) throw error
      const fact: Fact = isVerdict(error) ? { kind: 'verdict', verdict: error } : this.#failed(error)
      return { received, fact, outputs: none }
    } finally {
      received.handlerMs = env.clock.nowMs() - startedMs
    }
  }

  #failed(error: unknown): Fact {
    return { kind: 'failed', failure: classifyFailure(error, this.#classes) }
  }

  /** Rejects when the time is up or the transform leaves; the function is then not waited for. */
  #inTime<T>(work: Promise<T>, controller: AbortController): Promise<T> {
    const { transform, env } = this.#options
    const { handlerTimeoutMs } = transform.batch
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    const onAbort = () => reject(controller.signal.reason)
    controller.signal.addEventListener('abort', onAbort, { once: true })
    const cancel = env.timers.after(handlerTimeoutMs, () =>
      controller.abort(
        new OncewardError(
          'handler_timeout',
          `The function did not return within ${handlerTimeoutMs} ms. None of its outputs was written.`,
        ),
      ),
    )
    work.then(resolve, reject)
    return promise.finally(() => {
      cancel()
      controller.signal.removeEventListener('abort', onAbort)
    })
  }

  /** `work` must not reject. */
  #within<T>(limitMs: number, work: Promise<T>, late: () => T): Promise<T> {
    const { promise, resolve } = Promise.withResolvers<T>()
    const cancel = this.#options.env.timers.after(limitMs, () => resolve(late()))
    void work.then(resolve)
    return promise.finally(cancel)
  }
}

/** Reading that did not finish may succeed later; every other problem is in the bytes or their schema. */
function unreadableFact({ problem }: Extract<Received, { readable: false }>): Fact {
  if (problem.kind !== 'unvalidated') return { kind: 'unreadable', problem }
  const { kind, text } = problem
  return { kind: 'failed', failure: { class: 'transient', code: kind, error: text, place: '' } }
}

function listOf(result: Exclude<TransformResult, { kind: string }>): readonly KafkaTransformOutput[] {
  if (Array.isArray(result)) return result
  throw new OncewardError('usage', 'The function of a transform returns a list of outputs, or a verdict.')
}
