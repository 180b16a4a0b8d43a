import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ConsumerProcess, defineConsumer, realEnvironment } from 'onceward'
import { MemoryQueue } from 'onceward/memory'
import { type StoreFactory, type StoreUnderTest, until } from 'onceward/testing'
import { type Anything, type HostileInput, hostileInputs } from './inputs.ts'

let consumers = 0

/**
 * Every hostile input through the whole engine on one store: a row with its bytes, an end, and life goes on.
 */
export function hostileInputsOn<Tx>(name: string, factory: StoreFactory<Tx>): void {
  const options = factory.unavailable === undefined ? {} : { skip: factory.unavailable }
  describe(`hostile inputs on ${name}`, options, () => {
    for (const input of hostileInputs) {
      test(`row ${input.row}, ${input.what}: ${input.ends}, and the next good message is applied`, async () => {
        const under = await factory.create()
        try {
          await attack(input, under as StoreUnderTest<unknown>)
        } finally {
          await under.close()
        }
      })
    }
    test('row 86, ids that differ in case are different messages', async () => {
      const under = (await factory.create()) as StoreUnderTest<unknown>
      const { outcomes } = await consume(under, [
        { body: '{"id":"ABC"}' },
        { body: '{"id":"abc"}' },
        { body: '{"id":"ABC"}' },
      ])
      await under.close()
      assert.deepEqual(outcomes, { applied: 2, duplicate: 1 })
    })
  })
}

async function attack(
  { body, headers = {}, properties = {}, contract, ends, code }: HostileInput,
  under: StoreUnderTest<unknown>,
) {
  const hostile = { body, headers, properties }
  const good = { body: '{"id":"good"}' }
  const { outcomes, consumer } = await consume(under, [hostile, good, hostile], contract)
  const again = ends === 'parked' ? 'already held' : 'duplicate'
  const rows = await under.held(consumer)
  if (ends === 'applied') {
    assert.deepEqual(outcomes, { applied: 2, duplicate: 1 })
    return assert.deepEqual(rows, [])
  }
  assert.equal(outcomes.applied, 1)
  assert.equal((outcomes[ends] ?? 0) + (outcomes[again] ?? 0), 2, JSON.stringify(outcomes))
  assert.equal(rows.length, 1)
  assert.ok(rows[0]!.body.equals(body), 'the stored bytes are not the ones that came')
  assert.equal(rows[0]!.state, ends === 'dead-lettered' ? 'dead' : ends)
  if (code !== undefined) assert.equal(rows[0]!.code, code)
}

async function consume(
  under: StoreUnderTest<unknown>,
  messages: readonly { body: Buffer | string; headers?: object; properties?: object }[],
  contract: HostileInput['contract'] = {},
) {
  const queue = new MemoryQueue()
  queue.publish(...(messages as never[]))
  const consumer = `hostile_${process.pid}_${++consumers}`
  const one = new ConsumerProcess<Anything, unknown>({
    consumer: defineConsumer<Anything, unknown>({
      name: consumer,
      owner: 'hostile',
      risk: 'low value',
      source: { kind: 'memory' },
      identity: { id: m => m.id as string },
      failure: { attemptsMax: 2, delayMs: 1, delayMaxMs: 1 },
      handle: ({ envelope, tx }) => under.apply(tx, `${consumer} ${envelope.id}`),
      ...contract,
    }),
    source: queue,
    store: under.store,
    env: realEnvironment(),
    instance: 'hostile',
  })
  one.finished.catch(() => {})
  await one.start()
  await until('every delivery is settled', () => one.state === 'halted' || queue.unsettled === 0)
  assert.equal(one.state, 'running', 'the consumer is still alive')
  await one.drain()
  return { outcomes: one.tally.outcomes, consumer }
}
