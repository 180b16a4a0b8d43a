import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { joinGroupV9, syncGroupV5 } from '@platformatic/kafka'
import { KafkaConnections } from '../../src/drivers/kafka/client/connections.ts'
import { TransactionalProducer, type TransactionMember } from '../../src/drivers/kafka/client/transactions.ts'
import type { OncewardError } from '../../src/errors.ts'
import { until } from '../../src/testing/until.ts'
import { skipWithout } from '../services/services.ts'
import { openKafka, randomName, type TestKafka } from './fixture.ts'
import { startKafkaProxy } from './kafka-proxy.ts'

const out = (topic: string, value: string, partition = 0) => ({
  topic,
  partition,
  key: null,
  value: Buffer.from(value),
  headers: [],
  timestampMs: Date.now(),
})

const next = (topic: string, offset: number, partition = 0) => ({
  topic,
  partition,
  next: BigInt(offset),
  leaderEpoch: -1,
  metadata: '',
})

async function producer(kafka: TestKafka, transactionalId = randomName('tx')) {
  const made = new TransactionalProducer(kafka.connections, { transactionalId, transactionTimeoutMs: 30_000 })
  await made.start()
  return made
}

/** A member of a group of one, made by hand. */
async function join({ connections }: TestKafka, groupId: string): Promise<TransactionMember> {
  let memberId = ''
  for (;;) {
    try {
      const joined = await connections.atCoordinator('group', groupId, 'join', connection =>
        joinGroupV9.api.async(
          connection,
          groupId,
          30_000,
          30_000,
          memberId,
          null,
          'consumer',
          [{ name: 'range', metadata: Buffer.alloc(8) }],
          '',
        ),
      )
      const { generationId: generation } = joined
      await connections.atCoordinator('group', groupId, 'join', connection =>
        syncGroupV5.api.async(
          connection,
          groupId,
          generation,
          joined.memberId!,
          null,
          'consumer',
          'range',
          [],
        ),
      )
      return { groupId, generation, memberId: joined.memberId!, instanceId: null }
    } catch (error) {
      const { memberId: given } = (error as { response?: { memberId?: string } }).response ?? {}
      if (!given || given === memberId) throw error
      memberId = given
    }
  }
}

const values = async (kafka: TestKafka, topic: string) => (await kafka.read(topic)).map(({ value }) => value)

const codeOf = (code: OncewardError['code']) => (error: OncewardError) => {
  assert.equal(error.code, code, error.message)
  return true
}

describe('a Kafka transaction', await skipWithout('kafka'), () => {
  const setUp = async (t: TestContext) => {
    const kafka = await openKafka(t)
    const [input, output] = [await kafka.createTopic(), await kafka.createTopic({ partitions: 2 })]
    return { kafka, input, output, group: randomName('group') }
  }

  test('commits records and offsets together, and shows neither before', async t => {
    const { kafka, input, output, group } = await setUp(t)
    const member = await join(kafka, group)
    const one = await producer(kafka)
    await one.send([out(output, 'a'), out(output, 'b', 1)])
    await one.sendOffsets(member, [next(input, 5)])
    assert.deepEqual(await values(kafka, output), [])
    assert.equal(await kafka.endOffset(output, 0, 'uncommitted'), 1)
    await one.commit()
    await until('both are visible', async () => (await values(kafka, output)).length === 2)
    assert.deepEqual(await kafka.committed(group, input), new Map([[0, 5]]))
  })

  test('aborts both, and the next one is whole', async t => {
    const { kafka, input, output, group } = await setUp(t)
    const member = await join(kafka, group)
    const one = await producer(kafka)
    await one.send([out(output, 'no')])
    await one.sendOffsets(member, [next(input, 5)])
    await one.abort()
    await one.send([out(output, 'yes')])
    await one.sendOffsets(member, [next(input, 2)])
    await one.commit()
    await until('it is visible', async () => (await values(kafka, output)).length > 0)
    assert.deepEqual(await values(kafka, output), ['yes'])
    assert.deepEqual(await kafka.committed(group, input), new Map([[0, 2]]))
  })

  test('of many in a row keeps sequences and epochs apart', async t => {
    const { kafka, output } = await setUp(t)
    const one = await producer(kafka)
    for (let turn = 0; turn < 20; turn++) {
      await one.send([out(output, `${turn}`), out(output, `${turn}`, 1)])
      await one.send([out(output, `${turn}'`)])
      if (turn % 3 === 0) await one.abort()
      else await one.commit()
    }
    const kept = Array.from({ length: 20 }, (_, turn) => turn).filter(turn => turn % 3 !== 0)
    await until('all are visible', async () => (await values(kafka, output)).length === kept.length * 3)
    const first = (await kafka.read(output)).filter(({ partition }) => partition === 0)
    assert.deepEqual(
      first.map(({ value }) => value),
      kept.flatMap(turn => [`${turn}`, `${turn}'`]),
    )
  })

  test('of a zombie is fenced: its successor began with the same id, and its writes are never visible', async t => {
    const { kafka, input, output, group } = await setUp(t)
    const member = await join(kafka, group)
    const id = randomName('tx')
    const zombie = await producer(kafka, id)
    await zombie.send([out(output, 'zombie')])
    await zombie.sendOffsets(member, [next(input, 9)])
    const successor = await producer(kafka, id)
    await successor.send([out(output, 'successor')])
    await successor.sendOffsets(member, [next(input, 1)])
    await assert.rejects(zombie.commit(), codeOf('producer_fenced'))
    assert.equal(zombie.state, 'lost')
    await assert.rejects(zombie.send([out(output, 'late')]), codeOf('tx_closed'))
    await successor.commit()
    await until('the successor is visible', async () => (await values(kafka, output)).length > 0)
    assert.deepEqual(await values(kafka, output), ['successor'])
    assert.deepEqual(await kafka.committed(group, input), new Map([[0, 1]]))
  })

  test('of a zombie is fenced at its next record too', async t => {
    const { kafka, output } = await setUp(t)
    const id = randomName('tx')
    const zombie = await producer(kafka, id)
    await zombie.send([out(output, 'zombie')])
    await producer(kafka, id)
    await assert.rejects(zombie.send([out(output, 'more')]), codeOf('producer_fenced'))
    assert.deepEqual(await values(kafka, output), [])
  })

  test('accepts offsets without a member while the group has one: this ends pending ones', async t => {
    const { kafka, input, group } = await setUp(t)
    const member = await join(kafka, group)
    const one = await producer(kafka)
    await one.sendOffsets(member, [next(input, 5)])
    await one.sendOffsets({ ...member, generation: -1, memberId: '' }, [next(input, 5)])
    await one.commit()
    assert.deepEqual(await kafka.committed(group, input), new Map([[0, 5]]))
  })

  test('refuses offsets of a member of an earlier generation', async t => {
    const { kafka, input, output, group } = await setUp(t)
    const member = await join(kafka, group)
    const one = await producer(kafka)
    const strangers = [
      { ...member, generation: member.generation - 1 },
      { ...member, memberId: 'somebody-else' },
    ]
    for (const stranger of strangers) {
      await one.send([out(output, 'no')])
      await assert.rejects(one.sendOffsets(stranger, [next(input, 7)]), codeOf('ownership_lost'))
      await assert.rejects(one.commit(), codeOf('tx_closed'))
      await one.abort()
    }
    await one.send([out(output, 'yes')])
    await one.sendOffsets(member, [next(input, 1)])
    await one.commit()
    await until('it is visible', async () => (await values(kafka, output)).length > 0)
    assert.deepEqual(await values(kafka, output), ['yes'])
    assert.deepEqual(await kafka.committed(group, input), new Map([[0, 1]]))
  })

  test('that contains a refused record can only be aborted; the producer continues', async t => {
    const { kafka, output } = await setUp(t)
    const one = await producer(kafka)
    const huge = { ...out(output, ''), value: Buffer.alloc(2 * 1024 * 1024) }
    for (const before of [[], [out(output, 'no')]]) {
      await assert.rejects(one.send([...before, huge]), codeOf('publish_refused'))
      await assert.rejects(one.commit(), codeOf('tx_closed'))
      await one.abort()
    }
    await one.send([out(output, 'yes')])
    await one.commit()
    await until('it is visible', async () => (await values(kafka, output)).length > 0)
    assert.deepEqual(await values(kafka, output), ['yes'])
  })

  test('is ended once when the answer to its commit is lost', async t => {
    const { kafka, output } = await setUp(t)
    const proxy = await startKafkaProxy(t, kafka.bootstrap)
    const connections = new KafkaConnections({ bootstrap: proxy.bootstrap }, { produce: 500 })
    t.after(() => connections.close())
    const one = new TransactionalProducer(connections, { transactionalId: randomName('tx') })
    await one.start()
    let ends = 0
    proxy.onRequest(apiKey => {
      if (apiKey === 26) ends++
      if (apiKey === 26 && ends === 1) proxy.deafen()
      else proxy.listen()
    })
    await one.send([out(output, 'once')])
    await one.commit()
    assert.ok(ends > 1, 'the commit was sent again')
    await one.send([out(output, 'twice')])
    await one.commit()
    await until('both are visible', async () => (await values(kafka, output)).length === 2)
    assert.deepEqual(await values(kafka, output), ['once', 'twice'])
  })

  test('left open by a dead process is aborted as soon as its successor starts', async t => {
    const { kafka, output } = await setUp(t)
    const id = randomName('tx')
    const dead = await producer(kafka, id)
    await dead.send([out(output, 'half')])
    dead.close()
    await kafka.produce(output, [{ value: 'behind it', partition: 0 }])
    assert.deepEqual(await values(kafka, output), [], 'readers wait behind an open transaction')
    await producer(kafka, id)
    await until('the reader goes on', async () => (await values(kafka, output)).length === 1)
    assert.deepEqual(await values(kafka, output), ['behind it'])
  })
})
