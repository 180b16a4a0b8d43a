import assert from 'node:assert/strict'
import type { ConsumerContract } from '../../contract/contract.ts'
import { defineConsumer } from '../../contract/define-consumer.ts'
import type { BatchContext, HandlerContext, Mode } from '../../contract/handler.ts'
import { ConsumerProcess } from '../../engine/consumer/consumer.ts'
import { createSharedLimits } from '../../engine/consumer/shared-limits.ts'
import type { Store } from '../../ports/store.ts'
import { realEnvironment } from '../../runtime/real-environment.ts'
import { createWorker, leavesWork } from '../../work/create-worker.ts'
import { until } from '../until.ts'
import type { PublishedMessage, SourceUnderTest } from './source.ts'
import { expectRemaining, positionOf } from './source-bench.ts'
import type { HeldRow, StoreUnderTest } from './store.ts'

/** The message of every case. */
export interface Job {
  readonly id: string
  /** Order key. */
  readonly key?: string
  /** Business key, where the contract declares one. */
  readonly business?: string
  readonly note?: string
}

export type JobContext = HandlerContext<Job, unknown>
export type JobBatch = BatchContext<Job, unknown>
export type JobContract = ConsumerContract<Job, unknown>

let benches = 0

/** One queue, one store, one consumer name, and the processes a case starts on them. */
export class DeliveryBench<Tx> {
  readonly queue: SourceUnderTest
  readonly under: StoreUnderTest<Tx>
  readonly name = `delivery_${process.pid}_${++benches}`
  readonly #processes: ConsumerProcess<Job, unknown>[] = []
  #generation = 1

  constructor(queue: SourceUnderTest, under: StoreUnderTest<Tx>) {
    this.queue = queue
    this.under = under
  }

  /** The effect of every case: `applied` lists it once per application. */
  apply(tx: unknown, text: string): Promise<void> {
    return this.under.apply(tx as Tx, `${this.name}|${text}`)
  }

  async applied(): Promise<string[]> {
    const mine = `${this.name}|`
    return (await this.under.applied()).filter(key => key.startsWith(mine)).map(key => key.slice(mine.length))
  }

  /**
   * Starts a process that reads the queue; the handler applies the id unless the changes say otherwise.
   * `unclosed`: its run will look like a crash.
   */
  async start(
    changes: Partial<JobContract> = {},
    options: { another?: boolean; unclosed?: boolean; mode?: Mode } = {},
  ) {
    this.#generation = changes.generation ?? 1
    const store = options.another ? this.under.second : this.under.store
    const around = {
      consumer: defineConsumer<Job, unknown>(this.#contract(changes)),
      store: (options.unclosed ? neverClosed(store) : store) as Store<unknown>,
      env: realEnvironment(),
      mode: options.mode ?? 'live',
      instance: `process ${this.#processes.length + 1}`,
    }
    const shared = createSharedLimits(around.consumer, around.env)
    const worker = leavesWork(around.consumer)
      ? createWorker({ ...around, shared, onBatchDecided: () => worker?.kick() })
      : null
    const one = new ConsumerProcess<Job, unknown>({
      ...around,
      shared,
      source: options.another ? this.queue.another() : this.queue.source,
      onBatchDecided: () => worker?.kick(),
    })
    await worker?.start()
    if (worker !== null) this.#processes.push(worker.process)
    await one.start()
    this.#processes.push(one)
    return one
  }

  #contract(changes: Partial<JobContract>): JobContract {
    return {
      name: this.name,
      owner: 'conformance',
      risk: 'low value',
      source: { kind: 'conformance' },
      identity: { id: job => job.id },
      failure: { attemptsMax: 3, delayMs: 1, delayMaxMs: 5 },
      ...(changes.handleBatch === undefined && { handle: ({ message, tx }) => this.apply(tx, message.id) }),
      ...changes,
    }
  }

  /**
   * On a log, jobs of one key go to one partition, as from a producer that keys its records: only there are
   * they ordered.
   */
  publish(...jobs: readonly Job[]): Promise<void> {
    const partitions = this.queue.partitions?.length ?? 0
    return this.publishRaw(
      ...jobs.map(job => ({
        body: Buffer.from(JSON.stringify(job)),
        key: job.key ?? null,
        ...(partitions > 0 && { partition: spread(job.key ?? job.business ?? job.id) % partitions }),
      })),
    )
  }

  /** To the partition of a log that has this index. */
  publishTo(partition: number, ...jobs: readonly Job[]): Promise<void> {
    return this.publishRaw(
      ...jobs.map(job => ({ body: Buffer.from(JSON.stringify(job)), key: job.key ?? null, partition })),
    )
  }

  publishRaw(...messages: readonly PublishedMessage[]): Promise<void> {
    return this.queue.publish(messages)
  }

  /** Deliveries by outcome, over all processes of the case. */
  get outcomes(): Record<string, number> {
    const sum: Record<string, number> = {}
    for (const { tally } of this.#processes) {
      for (const [outcome, count] of Object.entries(tally.outcomes))
        sum[outcome] = (sum[outcome] ?? 0) + count
    }
    return sum
  }

  /** Outcomes that end a delivery; retries only hold it. */
  get ended(): Record<string, number> {
    const { retry: _, ...ended } = this.outcomes
    return ended
  }

  /**
   * How many ended with each outcome. On a log whose partitions moved, some are redelivered as duplicates.
   */
  expectEnded(expected: Record<string, number>): void {
    const { duplicate = 0, ...others } = this.ended
    const { duplicate: copies = 0, ...rest } = expected
    assert.deepEqual(others, rest)
    const again = this.queue.source.capabilities.positions
    assert.ok(
      again ? duplicate >= copies : duplicate === copies,
      `${duplicate} duplicates, expected ${copies}`,
    )
  }

  async untilEnded(count: number): Promise<void> {
    const ended = () => Object.values(this.ended).reduce((sum, n) => sum + n, 0)
    const alive = () => this.#processes.some(({ state }) => state === 'running')
    await until(`${count} deliveries ended`, () => {
      if (!alive() && ended() < count)
        throw new Error(`every process stopped after ${JSON.stringify(this.outcomes)}`)
      return ended() >= count
    })
  }

  async drain(): Promise<void> {
    await Promise.all(this.#processes.map(one => one.drain()))
  }

  /** Waits until that many deliveries ended, stops, and checks that the broker has nothing left. */
  async finish(count: number): Promise<void> {
    await this.untilEnded(count)
    // Where partitions moved some deliveries ended twice, and the count is too low.
    if (this.queue.source.capabilities.positions) await this.expectRemaining(0)
    await this.drain()
    await this.expectRemaining(0)
  }

  expectRemaining(count: number): Promise<void> {
    return expectRemaining(this.queue, count, partition => this.position(partition))
  }

  /** The position from which a log would be read, as seen from outside. */
  position(partition: string): Promise<string | null> {
    const consumer = { name: this.name, generation: this.#generation }
    return positionOf(
      this.queue,
      partition,
      consumer,
      async () => (await this.under.position!(this.name, partition, this.#generation))?.next ?? null,
    )
  }

  marker(id: string) {
    return this.under.marker(this.name, id)
  }

  async held(): Promise<readonly HeldRow[]> {
    return [...(await this.under.held(this.name))].sort((a, b) => ((a.id ?? '') < (b.id ?? '') ? -1 : 1))
  }

  attempts(id: string) {
    return this.under.attempts(this.name, id)
  }

  async close(): Promise<void> {
    for (const one of this.#processes) one.leave()
    await Promise.allSettled(this.#processes.map(one => one.finished))
    await this.queue.close()
    await this.under.close()
  }
}

/** The store of a process that crashes: no run is ever closed. */
function neverClosed<Tx>(store: Store<Tx>): Store<Tx> {
  const { capabilities, checkpoints, work, suspects, sql, registry, evidence } = store
  return {
    capabilities,
    enroll: facts => store.enroll(facts),
    closeRun: () => Promise.resolve(),
    transaction: (enrolment, batch) => store.transaction(enrolment, batch),
    ping: () => store.ping(),
    diagnose: error => store.diagnose(error),
    ...(checkpoints && { checkpoints }),
    ...(work && { work }),
    ...(suspects && { suspects }),
    ...(sql && { sql }),
    ...(registry && { registry }),
    ...(evidence && { evidence }),
  }
}

export const jobs = (count: number, changes: (index: number) => Partial<Job> = () => ({})): Job[] =>
  Array.from({ length: count }, (_, index) => ({ id: `m${index}`, ...changes(index) }))

export const idsOf = (list: readonly Job[]): string[] => list.map(({ id }) => id)

function spread(text: string): number {
  return [...text].reduce((sum, character) => (sum * 31 + character.charCodeAt(0)) % 65_521, 7)
}
