import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { skipWithout } from '../services/services.ts'
import { openKafka } from './fixture.ts'
import { javaTool } from './java-tools.ts'

describe('beside Java clients', await skipWithout('kafka'), () => {
  test('our keys go to the partitions theirs go to', async t => {
    const kafka = await openKafka(t)
    const topic = await kafka.createTopic({ partitions: 7 })
    const keys = Array.from({ length: 60 }, (_, index) => `${'ключ'.slice(0, index % 5)}key${index}`)
    const lines = keys.map(key => `${key}\tjava\n`).join('')
    const options = ['--bootstrap-server', kafka.bootstrap, '--topic', topic, '--request-timeout-ms', '30000']
    await javaTool('ConsoleProducer', [...options, '--reader-property', 'parse.key=true'], lines)
    await kafka.produce(
      topic,
      keys.map(key => ({ key, value: 'ours' })),
    )
    const places = (from: string, records: Awaited<ReturnType<typeof kafka.read>>) =>
      new Map(records.filter(({ value }) => value === from).map(({ key, partition }) => [key, partition]))
    const records = await kafka.read(topic)
    assert.equal(places('java', records).size, keys.length)
    assert.ok(new Set(places('java', records).values()).size > 3)
    for (const key of keys) assert.equal(places('ours', records).get(key), places('java', records).get(key))
  })

  test('they read our compressed records, tombstones and headers, and our committed transactions only', async t => {
    const kafka = await openKafka(t)
    const topic = await kafka.createTopic()
    for (const compression of ['none', 'gzip', 'snappy', 'lz4', 'zstd'] as const) {
      const long = compression.repeat(100)
      await kafka.produce(
        topic,
        [
          { key: 'k', value: long, headers: { a: 'b' } },
          { key: 'k', value: null },
        ],
        compression,
      )
    }
    const [one, two] = [await kafka.transaction(topic), await kafka.transaction(topic)]
    await one.send('one: no')
    await two.send('two: yes')
    await one.send('one: no again')
    await one.abort()
    await two.send('two: yes again')
    await one.send('one: later yes')
    await two.commit()
    await one.commit()
    const printed = await javaTool('consumer.ConsoleConsumer', [
      ...[
        '--bootstrap-server',
        kafka.bootstrap,
        '--topic',
        topic,
        '--partition',
        '0',
        '--offset',
        'earliest',
      ],
      ...['--max-messages', '13', '--timeout-ms', '60000', '--isolation-level', 'read_committed'],
      ...['--formatter-property', 'print.key=true', '--formatter-property', 'print.headers=true'],
    ])
    const compressed = ['none', 'gzip', 'snappy', 'lz4', 'zstd'].flatMap(name => [
      `a:b\tk\t${name.repeat(100)}`,
      'NO_HEADERS\tk\tnull',
    ])
    const committed = ['two: yes', 'two: yes again', 'one: later yes'].map(
      text => `NO_HEADERS\tnull\t${text}`,
    )
    assert.deepEqual(printed.trimEnd().split('\n'), [...compressed, ...committed])
    assert.deepEqual(
      (await kafka.read(topic)).map(({ value }) => value).slice(-3),
      ['two: yes', 'two: yes again', 'one: later yes'],
      'and the reader that other tests check by agrees',
    )
  })
})
