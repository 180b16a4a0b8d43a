import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { KafkaDriver } from '../../src/drivers/kafka/kafka-driver.ts'
import { settingsOf, topic } from '../../src/drivers/kafka/topic.ts'
import { silent } from '../../src/environment.ts'
import { logOptions, MemoryCheckpoints } from '../../src/testing/memory-checkpoints.ts'
import { until } from '../../src/testing/until.ts'
import { aMember, clientRig, record } from './kafka-client-rig.ts'

function rig(t: TestContext, onRevoke = () => Promise.resolve()) {
  const { client, seen } = clientRig()
  const checkpoints = new MemoryCheckpoints()
  const driver = new KafkaDriver({
    client,
    settings: settingsOf(topic('t', { start: 'earliest' }), { name: 'c', generation: 1 }),
    open: {
      inFlightMax: 10,
      inFlightBytesMax: 1_000,
      onEvent: () => {},
      log: logOptions({ onRevoke, checkpoints }),
    },
    log: silent,
    partitions: 2,
  })
  t.after(() => driver.close())
  const epochs = () => driver.subscription.partitions.map(({ partition, epoch }) => `${partition} ${epoch}`)
  return { driver, seen, epochs, checkpoints, group: seen.group!, log: seen.log! }
}

describe('the Kafka driver', () => {
  test('keeps a partition that it lost and was assigned again while it was being revoked', async t => {
    const drained = Promise.withResolvers<void>()
    const { driver, seen, group, epochs } = rig(t, () => drained.promise)
    group.onAssigned([0], aMember('first'))
    await until('it is read', () => seen.added.length === 1)
    const revoked = group.onRevoked([0])
    group.onLost([0], 'the session is over')
    group.onAssigned([0], aMember('second'))
    await until('it is read again', () => seen.added.length === 2)
    drained.resolve()
    await revoked
    assert.deepEqual(epochs(), ['t/0 2'])
    assert.equal(driver.wants(seen.added[1]!.progress), true)
  })

  test('takes a partition once, although another of the same assignment could not be begun yet', async t => {
    const { seen, group, epochs } = rig(t)
    seen.answers.push({ kind: 'confirmed' }, { kind: 'later', reason: 'a rebalance' })
    group.onAssigned([0, 1], aMember())
    await until('both are read', () => epochs().length === 2)
    assert.deepEqual(epochs(), ['t/0 1', 't/1 2'])
    assert.deepEqual(
      seen.added.map(({ partition }) => partition),
      [0, 1],
    )
  })

  test('delivers the bytes of an unreadable batch in the place of its records, and continues after it', async t => {
    const { driver, seen, group, log, checkpoints } = rig(t)
    group.onAssigned([0], aMember())
    await until('it is read', () => seen.added.length === 1)
    const { progress } = seen.added[0]!
    log.onRecords(progress, [record(0), record(1)], 2)
    const bytes = Buffer.from('a batch')
    log.onUnreadable(progress, { at: 2, next: 5, reason: 'a batch whose checksum does not match', bytes })
    const deliveries = await driver.subscription.receive(3)
    const [, , broken] = deliveries
    assert.deepEqual([broken!.body, broken!.place!.at, broken!.place!.next], [bytes, '2', '5'])
    assert.equal(broken!.position, 't/0@2')
    assert.match(broken!.properties.contentEncoding!, /^unreadable: 3 records.*checksum does not match/)
    assert.equal(seen.added.length, 2, 'reading goes on')
    assert.deepEqual([seen.added[1]!.progress, seen.added[1]!.offset], [progress, 5])
    await driver.subscription.settle(deliveries)
    assert.deepEqual([progress.position, checkpoints.losses], ['5', []])
  })

  test('declares an unreadable batch that is too large to store as lost when all before it is settled, and nothing else', async t => {
    const { driver, seen, group, log, checkpoints } = rig(t)
    group.onAssigned([0], aMember())
    await until('it is read', () => seen.added.length === 1)
    const { progress } = seen.added[0]!
    log.onRecords(progress, [record(0), record(1)], 2)
    const deliveries = await driver.subscription.receive(2)
    const bytes = Buffer.alloc(33 * 1024 * 1024)
    log.onUnreadable(progress, { at: 2, next: 5, reason: 'a batch whose checksum does not match', bytes })
    await driver.subscription.settle(deliveries.slice(1))
    assert.equal(checkpoints.losses.length, 0)
    await driver.subscription.settle(deliveries.slice(0, 1))
    await assert.rejects(driver.subscription.receive(1), { code: 'records_lost' })
    const [loss] = checkpoints.losses
    assert.deepEqual([loss!.from.next, loss!.to!.next, loss!.records], ['2', '5', 3])
  })

  test('takes all partitions back at once that the store reported as lost', async t => {
    t.mock.timers.enable({ apis: ['setInterval'] })
    let nowMs = 0
    t.mock.method(performance, 'now', () => nowMs)
    const { driver, seen, group, epochs } = rig(t)
    group.onAssigned([0, 1], aMember())
    await until('both are read', () => seen.added.length === 2)
    driver.subscription.disown(['t/0', 't/1'])
    t.mock.timers.tick(5_000)
    nowMs = 60_000
    t.mock.timers.tick(5_000)
    await until('they are read again', () => seen.added.length === 4)
    assert.deepEqual(epochs(), ['t/0 2', 't/1 2'])
  })

  test('is not stalled while it takes a partition over, and reports a stall when that takes too long', async t => {
    t.mock.timers.enable({ apis: ['setInterval'] })
    let nowMs = 0
    t.mock.method(performance, 'now', () => nowMs)
    const { driver, group, checkpoints } = rig(t)
    t.mock.method(checkpoints, 'take', () => new Promise(() => {}))
    group.onAssigned([0], aMember())
    const stalledAt = (ms: number) => {
      t.mock.timers.tick(2_000)
      nowMs = ms
      group.onConnected()
      return driver.stalled()
    }
    assert.equal(stalledAt(10_000), null)
    assert.deepEqual(stalledAt(16_000), { forMs: 16_000, reason: 't/0 is assigned but not read yet' })
  })
})
