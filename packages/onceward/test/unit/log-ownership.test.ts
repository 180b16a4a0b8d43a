import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import type { ConsumerContract } from 'onceward'
import { MemoryLog, MemoryStore, type MemoryTransaction } from 'onceward/memory'
import { until } from 'onceward/testing'
import { defineConsumer } from '../../src/contract/define-consumer.ts'
import { ConsumerProcess } from '../../src/engine/consumer/consumer.ts'
import { silent } from '../../src/environment.ts'
import { realEnvironment } from '../../src/runtime/real-environment.ts'

type Job = { readonly id: string }
type Contract = Partial<ConsumerContract<Job, MemoryTransaction>>

/** Processes of one consumer on a log in memory. */
class Rig {
  readonly log = new MemoryLog()
  readonly store = new MemoryStore()
  readonly processes: ConsumerProcess<Job, MemoryTransaction>[] = []
  #published = 0

  get applied(): string[] {
    return (this.store.committed.data.get('applied') as string[] | undefined) ?? []
  }

  publish(count: number): void {
    for (let index = 0; index < count; index++)
      this.log.publish({ body: JSON.stringify({ id: `m${this.#published++}` }) })
  }

  get expected(): string[] {
    return Array.from({ length: this.#published }, (_, index) => `m${index}`)
  }

  async start(changes: Contract = {}): Promise<ConsumerProcess<Job, MemoryTransaction>> {
    const consumer = defineConsumer<Job, MemoryTransaction>({
      name: 'reader',
      owner: 'unit',
      risk: 'low value',
      source: { kind: 'memory' },
      identity: { id: job => job.id },
      batch: { sizeMax: 5, deliveriesMax: 30 },
      ...(changes.handleBatch === undefined && { handle: ({ message, tx }) => this.apply(tx, message.id) }),
      ...changes,
    })
    const { log: source, store } = this
    const env = { ...realEnvironment(), log: silent }
    const one = new ConsumerProcess({ consumer, source, store, env, instance: `p${this.processes.length}` })
    await one.start()
    this.processes.push(one)
    return one
  }

  apply(tx: MemoryTransaction, id: string): void {
    tx.set('applied', [...((tx.get('applied') as string[] | undefined) ?? []), id])
  }

  async finish(): Promise<void> {
    await until('everything is applied', () => this.applied.length >= this.expected.length)
    await Promise.all(this.processes.map(one => one.drain()))
    assert.deepEqual([...this.applied].sort(), this.expected.sort())
  }
}

const contracts: Record<string, Contract> = {
  unordered: {},
  'partition order': { order: 'partition' },
  'with effect': { order: 'partition', settle: { when: 'with effect' } },
  'the position alone': { order: 'partition', dedup: 'checkpoint' },
}

describe('partitions that are assigned and revoked', () => {
  for (const [name, contract] of Object.entries(contracts)) {
    test(`lose and repeat nothing: ${name}`, async () => {
      const step = fc.constantFrom('publish', 'publish', 'cut', 'join', 'leave', 'wait')
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 25 }), async steps => {
          const rig = new Rig()
          await rig.start(contract)
          for (const one of steps) {
            if (one === 'publish') rig.publish(20)
            else if (one === 'cut') rig.log.disconnect()
            else if (one === 'join') await rig.start(contract)
            else if (one === 'leave' && rig.processes.length > 1) rig.processes.shift()!.leave()
            else await new Promise(resolve => setImmediate(resolve))
          }
          await rig.finish()
        }),
        { numRuns: 40 },
      )
    })
  }

  test('a batch of an earlier ownership does not end the current one', async () => {
    const rig = new Rig()
    const { promise: go, resolve } = Promise.withResolvers<void>()
    const { promise: began, resolve: begin } = Promise.withResolvers<void>()
    await rig.start({
      order: 'partition',
      async handle({ message, tx }) {
        begin()
        await go
        rig.apply(tx, message.id)
      },
    })
    rig.publish(30)
    await began
    rig.log.disconnect()
    rig.log.disconnect()
    resolve()
    await rig.finish()
  })
})
