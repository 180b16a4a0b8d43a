import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, test } from 'node:test'
import type { ConsumerContract } from 'onceward'
import { topic } from 'onceward/kafka'
import { check } from '../../src/review/check.ts'
import { sampleOf } from '../../src/review/samples/sample.ts'
import { inEnvironment } from '../../src/runtime/fixed-environment.ts'
import { consumerWith } from './contract-pairs.ts'

type Identity = ConsumerContract['identity']

const version = (version: number) => ({ eventId: `e${version}`, caseId: 'CASE-1', version, state: 'OPEN' })

/** Findings of the rules over samples alone. */
async function found(identity: Identity, bodies: readonly unknown[] = [], changes = {}): Promise<string[]> {
  const consumer = consumerWith({ identity, source: topic('t'), ...changes })
  const samples = bodies.map((body, index) => sampleOf(body, index + 1))
  const { findings } = await check([{ file: 'x.ts', consumer }], {
    trial: { samples, inEnvironment },
    waivers: [],
    today: '2026-11-18',
  })
  return findings
    .filter(({ id }) => id >= 'OW107' && id <= 'OW110')
    .map(one => `${one.id} ${one.found}`)
    .sort()
}

/* biome-ignore lint/suspicious/noExplicitAny: messages of any shape */
const field = (read: (message: any, delivery: any) => unknown) => read as never

describe('an identity that depends on more than the message', () => {
  const cases: readonly [string, never, RegExp][] = [
    ['Date.now', field(m => `${m.caseId}-${Date.now()}`), /depends on the clock/],
    ['new Date', field(m => `${m.caseId} ${new Date().toISOString()}`), /depends on the clock/],
    ['Date as a function', field(m => `${m.caseId} ${Date()}`), /depends on the clock/],
    ['performance.now', field(m => `${m.caseId}-${performance.now()}`), /depends on the clock/],
    ['Math.random', field(m => `${m.caseId}-${Math.random()}`), /depends on random numbers/],
    ['crypto.randomUUID', field(() => crypto.randomUUID()), /depends on random numbers/],
    ['randomUUID of node:crypto', field(() => randomUUID()), /depends on random numbers/],
    [
      'getRandomValues',
      field(() => `n${crypto.getRandomValues(new Uint32Array(1))[0]}`),
      /depends on random numbers/,
    ],
    ['a counter', field(() => `n${counter++}`), /differs between two calls/],
    [
      'the time of the delivery',
      field((_, d) => `t${d.properties.timestampMs}`),
      /time or the count of the del/,
    ],
    [
      'the count of the delivery',
      field((_, d) => `c${d.headers['x-delivery-count']}`),
      /the count of the del/,
    ],
  ]
  let counter = 0
  for (const [what, read, expected] of cases) {
    test(`${what} is an error, on samples and on an empty message`, async () => {
      for (const bodies of [[version(1)], []]) {
        const [one, ...others] = await found({ id: read }, bodies)
        assert.match(one!, expected)
        assert.match(one!, /^OW107 identity\.id /)
        assert.match(one!, bodies.length === 0 ? /an empty message$/ : /sample 1$/)
        assert.deepEqual(others, [])
      }
    })
  }

  test('is found in every key, and each is named once', async () => {
    const bad = field(m => `${m.caseId}-${Date.now()}`)
    const identity = { id: field(m => m.eventId), businessKey: bad, businessDigest: bad, orderKey: bad }
    assert.deepEqual(await found(identity, [version(1), version(2)]), [
      'OW107 identity.businessDigest depends on the clock, seen on sample 1',
      'OW107 identity.businessKey depends on the clock, seen on sample 1',
      'OW107 identity.orderKey depends on the clock, seen on sample 1',
    ])
  })

  test('is found where the schema creates it', async () => {
    const validate = (value: object) => ({ value: { ...value, eventId: crypto.randomUUID() } })
    const message = { '~standard': { version: 1, vendor: 'test', validate } }
    const identity = { id: field(m => m.eventId) }
    assert.match((await found(identity, [{}], { message })).join(), /^OW107 identity\.id depends on random/)
  })

  test('is not found in times that the message carries', async () => {
    const identity = { id: field(m => `${m.eventId} ${new Date(m.at).getTime()} ${Date.parse(m.at)}`) }
    assert.deepEqual(await found(identity, [{ eventId: 'e1', at: '2026-01-01T00:00:00Z' }]), [])
  })

  test('leaves clock and random source as they were, also after an error', async () => {
    const before = [Date, Math.random, performance.now, crypto.randomUUID, randomUUID]
    await found({ id: field(() => Date.now()) }, [version(1)])
    const failing = () => {
      throw new Error('no')
    }
    await assert.rejects(inEnvironment({ nowMs: 0, random: 0 }, failing), /no/)
    assert.deepEqual([Date, Math.random, performance.now, crypto.randomUUID, randomUUID], before)
    assert.ok(Math.abs(Date.now() - performance.timeOrigin - performance.now()) < 60_000)
    assert.notEqual(crypto.randomUUID(), randomUUID())
  })
})

describe('an entity id as message id', () => {
  const aggregateId = field(m => m.caseId)
  const aggregateVersion = field(m => m.version)

  test('is a warning where the message has a version', async () => {
    assert.deepEqual(await found({ id: aggregateId, aggregateId, aggregateVersion }, [version(1)]), [
      'OW108 identity.id is identity.aggregateId in sample 1, which has a version in identity.aggregateVersion',
    ])
    assert.deepEqual(await found({ id: aggregateId, orderKey: aggregateId }, [version(1)]), [
      'OW108 identity.id is identity.orderKey in sample 1, which has a version in the field version',
    ])
  })

  test('is a warning where two samples share it with other content', async () => {
    assert.deepEqual(await found({ id: aggregateId }, [version(1), version(1), version(2)]), [
      'OW108 sample 1 and sample 3 have the id "CASE-1" and other content',
    ])
  })

  test('is no finding with the version, without a version, or with dedup by version', async () => {
    const both = field(m => `${m.caseId}/${m.version}`)
    assert.deepEqual(await found({ id: both, aggregateId, aggregateVersion }, [version(1), version(2)]), [])
    const command = { commandId: 'c1', schemaVersion: 2 }
    assert.deepEqual(
      await found({ id: field(m => m.commandId), orderKey: field(m => m.commandId) }, [command]),
      [],
    )
    assert.deepEqual(
      await found({ id: aggregateId }, [version(1), version(2)], {
        dedup: 'checkpoint',
        order: 'partition',
        risk: 'telemetry',
        retention: undefined,
      }),
      [],
    )
  })
})

describe('a captured change', () => {
  const change = (source: object) => ({ op: 'u', before: null, after: { id: 7 }, source })
  const committed = change({ connector: 'postgresql', lsn: 100, txId: 5, table: 'cases' })
  const byRow = field(m => `cases/${(m.payload ?? m).after.id}`)
  const byCommit = field(m => `cases/${(m.payload ?? m).after.id}/${(m.payload ?? m).source.lsn}`)

  test('is a warning where its id leaves the commit out', async () => {
    const expected = ['OW109 identity.id of sample 1 stays the same at another commit']
    assert.deepEqual(await found({ id: byRow }, [committed]), expected)
    assert.deepEqual(await found({ id: byRow }, [{ schema: {}, payload: committed }]), expected)
  })

  test('is a warning where it has no commit metadata', async () => {
    assert.deepEqual(await found({ id: byRow }, [change({ table: 'cases' })]), [
      'OW109 the captured change in sample 1 has no commit metadata',
    ])
  })

  test('is none where the id has the commit, and by position', async () => {
    assert.deepEqual(await found({ id: byCommit }, [committed]), [])
    assert.deepEqual(await found({ id: byCommit }, [{ payload: committed }]), [])
    assert.deepEqual(await found({ id: 'position', businessKey: byRow }, [committed]), [])
  })
})

test('a sample that the contract refuses is a warning', async () => {
  const validate = () => ({ issues: [{ message: 'no amount' }] })
  const message = { '~standard': { version: 1, vendor: 'test', validate } }
  const [one, ...others] = await found({ id: field(m => m.eventId) }, [version(1)], { message })
  assert.match(one!, /^OW110 sample 1: .*no amount/)
  assert.deepEqual(others, [])
})
