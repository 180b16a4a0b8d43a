import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { KafkaError, troubleOfCode } from '../../src/drivers/kafka/client/kafka-error.ts'
import { settingsOf, topic } from '../../src/drivers/kafka/topic.ts'
import { TransformInput, type TransformInputOptions } from '../../src/drivers/kafka/transform-input.ts'
import { silent } from '../../src/environment.ts'
import { until } from '../../src/testing/until.ts'
import { aMember, clientRig, record } from './kafka-client-rig.ts'

function rig(
  t: TestContext,
  begin: TransformInputOptions['begin'] = async () => {},
  endPending: TransformInputOptions['endPending'] = async () => {},
) {
  const { client, seen } = clientRig()
  const input = new TransformInput({
    client,
    settings: settingsOf(topic('t', { start: 'earliest' }), { name: 'g', generation: 1 }),
    partitions: 2,
    log: silent,
    begin,
    endPending,
    onHalt: error => assert.fail(error),
    onReceived() {},
    keepsUnreadable: true,
  })
  t.after(() => input.close())
  return { input, seen, client, group: seen.group!, log: seen.log! }
}

describe('the input of a transform', () => {
  test('is read once, although another partition could not be begun yet', async t => {
    let begun = 0
    const { input, seen, group, log } = rig(t, async () => {
      if (++begun === 2) throw new Error('the transaction was aborted')
    })
    group.onAssigned([0, 1], aMember())
    await until('the first is read', () => seen.added.length === 1)
    log.onRecords(seen.added[0]!.progress, [record(0)], 1)
    const batch = await input.next(10)
    await until('the second is read', () => seen.added.some(({ partition }) => partition === 1))
    assert.deepEqual(
      seen.added.map(({ partition }) => partition),
      [0, 1],
    )
    assert.equal(input.isOurs(batch!), true)
  })

  test('continues in a partition that was lost and assigned again while it was being revoked', async t => {
    const { input, seen, group, log } = rig(t)
    group.onAssigned([0], aMember('first'))
    await until('it is read', () => seen.added.length === 1)
    log.onRecords(seen.added[0]!.progress, [record(0)], 1)
    const batch = await input.next(10)
    const revoked = group.onRevoked([0])
    group.onLost([0], 'the session is over')
    group.onAssigned([0], aMember('second'))
    await until('it is read again', () => seen.added.length === 2)
    input.conclude(batch!, false)
    await revoked
    assert.equal(log.wants(seen.added[1]!.progress), true)
  })

  test('begins once the offsets that a broker left pending are ended', async t => {
    const asked: (readonly [number, number])[][] = []
    const { seen, client, group } = rig(t, undefined, async stable => {
      asked.push([...stable])
    })
    const committed = async (options?: object) => {
      if (options === undefined && asked.length === 0)
        throw new KafkaError(troubleOfCode(88), 'offsets of the group')
      return new Map([[0, { offset: 60, leaderEpoch: 0, metadata: '' }]])
    }
    Object.assign(client, {
      committed: (_partitions: unknown, _member: unknown, options?: object) => committed(options),
      bounds: async () => new Map([[0, { start: 0, end: 100 }]]),
    })
    group.onAssigned([0], aMember())
    await until('it is read', () => seen.added.length === 1)
    assert.deepEqual(asked, [[[0, 60]]])
  })

  test('is delivered again, in order, from where its partition stopped, after the delay', async t => {
    const { input, seen, group, log } = rig(t)
    group.onAssigned([0, 1], aMember())
    await until('both are read', () => seen.added.length === 2)
    for (const { progress } of seen.added) log.onRecords(progress, [record(0), record(1), record(2)], 3)
    const batch = (await input.next(10))!
    const names = [...batch.leases.keys()].map(({ progress }) => progress.partition)
    const stops = new Map([
      [names[0]!, { at: 0, delayMs: 30 }],
      [names[1]!, { at: 1, delayMs: 0 }],
    ])
    const done = input.narrow(batch, stops)
    assert.deepEqual(
      done.offsets.map(({ partition, next }) => [`t/${partition}`, next]),
      [[names[1], 1n]],
    )
    log.onRecords(seen.added.find(one => `t/${one.partition}` === names[1])!.progress, [record(3)], 4)
    input.conclude(done, true)
    const positions = (some: typeof batch) =>
      some.records.map(({ partition, place }) => [partition, place.at])
    const next = (await input.next(10))!
    assert.deepEqual(
      positions(next),
      ['1', '2', '3'].map(at => [names[1], at]),
    )
    input.conclude(next, true)
    const last = (await input.next(10))!
    assert.deepEqual(
      positions(last),
      ['0', '1', '2'].map(at => [names[0], at]),
    )
  })

  test('is not read on after a transaction that failed while its partition was being revoked', async t => {
    const { input, seen, group, log } = rig(t)
    group.onAssigned([0], aMember())
    await until('it is read', () => seen.added.length === 1)
    log.onRecords(seen.added[0]!.progress, [record(0)], 1)
    const batch = await input.next(10)
    const revoked = group.onRevoked([0])
    input.conclude(batch!, false)
    input.rewind()
    await revoked
    assert.equal(input.isOurs(batch!), false)
    assert.equal(seen.added.length, 1)
  })
})
