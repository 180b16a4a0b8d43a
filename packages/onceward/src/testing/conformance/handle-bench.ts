import assert from 'node:assert/strict'
import type { ConsumerContract } from '../../contract/contract.ts'
import { defineConsumer } from '../../contract/define-consumer.ts'
import type { HandlerContext } from '../../contract/handler.ts'
import { MemoryQueue } from '../../drivers/memory/source.ts'
import { ConsumerProcess } from '../../engine/consumer/consumer.ts'
import { realEnvironment } from '../../runtime/real-environment.ts'
import { until } from '../until.ts'
import type { HandlesUnderTest } from './handles.ts'

interface Job {
  readonly id: string
}

export type Attempt = HandlerContext<Job, unknown>

let benches = 0

/**
 * A consumer on a store with one connection: anything that a transaction leaves on it affects the next one.
 */
export class HandleBench {
  readonly under: HandlesUnderTest<unknown>
  readonly #queue = new MemoryQueue()
  readonly #name = `handles_${process.pid}_${++benches}`
  #process: ConsumerProcess<Job, unknown> | null = null
  /** How often the handler of `bad` was called. */
  calls = 0

  constructor(under: HandlesUnderTest<unknown>) {
    this.under = under
  }

  apply(tx: unknown, text: string): Promise<void> {
    return this.under.apply(tx, `${this.#name}|${text}`)
  }

  async applied(): Promise<string[]> {
    const mine = `${this.#name}|`
    const all = await this.under.applied()
    return all.filter(key => key.startsWith(mine)).map(key => key.slice(mine.length))
  }

  /**
   * Every message applies its id. The first attempts of `bad` do what `fails` does, which must not commit.
   */
  async start(
    fails: (attempt: Attempt) => Promise<unknown>,
    changes: Partial<ConsumerContract<Job, unknown>> = {},
    failingAttempts = 2,
  ): Promise<void> {
    const consumer = defineConsumer<Job, unknown>({
      name: this.#name,
      owner: 'conformance',
      risk: 'money',
      source: { kind: 'conformance' },
      identity: { id: job => job.id },
      failure: {
        attemptsMax: failingAttempts + 1,
        delayMs: 1,
        delayMaxMs: 1,
        breaker: false,
        classes: { '22012': 'transient', tx_not_awaited: 'transient', tx_error_swallowed: 'transient' },
      },
      handle: async attempt => {
        const { message, tx } = attempt
        if (message.id === 'bad' && ++this.calls <= failingAttempts) await fails(attempt)
        else await this.apply(tx, message.id)
      },
      ...changes,
    })
    this.#process = new ConsumerProcess({
      consumer,
      source: this.#queue,
      store: this.under.store,
      env: realEnvironment(),
      instance: 'conformance',
    })
    await this.#process.start()
  }

  publish(...ids: readonly string[]): void {
    this.#queue.publish(...ids.map(id => ({ body: JSON.stringify({ id }) })))
  }

  async settled(): Promise<void> {
    await until('everything is settled', () => {
      if (this.#process!.state !== 'running') throw new Error(`the consumer is ${this.#process!.state}`)
      return this.#queue.unsettled === 0
    })
  }

  /**
   * `bad` between neighbours, then others on the same connection: each was applied once, and nothing else
   * was.
   */
  async expectOnce(): Promise<void> {
    const [before, after] = [
      ['a', 'b', 'bad', 'c'],
      ['d', 'e'],
    ]
    this.publish(...before)
    await this.settled()
    this.publish(...after)
    await this.settled()
    assert.deepEqual((await this.applied()).sort(), [...before, ...after].sort())
    await this.#process!.drain()
    await until('no session is in a transaction', async () => (await this.under.sessions()).open === 0)
    const { total } = await this.under.sessions()
    assert.ok(total <= 1, `${total} sessions of a pool of one connection`)
    assert.deepEqual((await this.applied()).sort(), [...before, ...after].sort())
  }

  async close(): Promise<void> {
    this.#process?.leave()
    await this.#process?.finished.catch(() => {})
    await this.under.close()
  }
}
