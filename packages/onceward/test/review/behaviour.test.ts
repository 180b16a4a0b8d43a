import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type ConsumerContract, ConsumerProcess, defineConsumer, ignore, park, reject } from 'onceward'
import { MemoryQueue, MemoryStore, type MemoryTransaction } from 'onceward/memory'
import { createTestEnvironment, type TestEnvironment } from 'onceward/testing'
import { failureRules } from '../../src/contract/failure-rules.ts'
import { behaviourOf, type Situation } from '../../src/review/page/behaviour.ts'
import { contractPage } from '../../src/review/page/contract-page.ts'
import { logRig } from '../unit/log-rig.ts'

interface Note {
  readonly id?: string
  readonly key: string
  readonly text: string
  readonly type: string
  readonly version: number
  readonly do: string
}
type Contract = Partial<ConsumerContract<Note, MemoryTransaction>>

const note: Note = { id: 'm1', key: 'k1', text: 'a', type: 'known', version: 1, do: '' }
const classes = {
  transient: 'transient',
  overload: 'overload',
  rateLimited: 'rate limited',
  businessConflict: 'business conflict',
  validation: 'validation',
  poison: 'poison',
  configuration: 'configuration',
  corruption: 'corruption',
} as const

/** What is published for each situation: the messages before it, and the one it is about. */
const staged: Record<Situation, { readonly before?: Note; readonly about: Partial<Note> | string }> = {
  again: { before: note, about: note },
  altered: { before: note, about: { ...note, text: 'b' } },
  keyAgain: { before: note, about: { ...note, id: 'm2' } },
  keyAltered: { before: note, about: { ...note, id: 'm2', text: 'b' } },
  keyHeld: { before: { ...note, do: 'park' }, about: { ...note, id: 'm2' } },
  undecodable: { about: 'no JSON' },
  tombstone: { about: '' },
  invalid: { about: { ...note, text: 'refused' } },
  unknownType: { about: { ...note, type: 'stranger' } },
  unsupportedVersion: { about: { ...note, version: 99 } },
  idMissing: { about: (({ id: _, ...rest }) => rest)(note) },
  ignored: { about: { ...note, do: 'ignore' } },
  parked: { about: { ...note, do: 'park' } },
  rejected: { about: { ...note, do: 'reject' } },
  ...(Object.fromEntries(
    [...Object.keys(classes), 'unclassified'].map(name => [name, { about: { ...note, do: name } }]),
  ) as Record<keyof typeof classes | 'unclassified', { about: Note }>),
}

const schema = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: (value: unknown) =>
      (value as Note).text === 'refused' ? { issues: [{ message: 'refused' }] } : { value: value as Note },
  },
} as const

const verdicts: Record<string, (reason: string) => unknown> = { ignore, park, reject }
const id = (m: Note) => m.id
const idOrTombstone = (m: Note | null) => (m === null ? 't1' : m.id)
const businessKey = (m: Note) => m.key
const listed = { types: ['known'], versions: [1] }
const typed = {
  type: (m: Note) => m.type,
  schemaVersion: (m: Note) => String(m.version),
}

/** Every option that changes what becomes of a message. */
const contracts: Record<string, Contract> = {
  'an id alone': {},
  'a business key without a digest': { identity: { id, businessKey } },
  'a business key with a digest': { identity: { id, businessKey, businessDigest: m => m.text } },
  'a schema, types and versions': {
    identity: { id, ...typed },
    message: { schema, types: listed.types, versions: listed.versions.map(String) },
  },
  'two attempts': { failure: { attemptsMax: 2 } },
  'no end': {
    order: 'key',
    identity: { id, orderKey: m => m.key },
    failure: { attemptsMax: 2, exhausted: 'stop' },
  },
  'poison after two of a kind': { failure: { poison: { maxAttemptsBeforePark: 2 } } },
  'ends of its own': {
    identity: { id, ...typed },
    message: { schema, types: listed.types },
    failure: {
      policies: {
        validation: { terminal: 'parked' },
        poison: { terminal: 'dead-lettered', attemptsMax: 3 },
        transient: { terminal: 'quarantined', attemptsMax: 2 },
        configuration: { terminal: 'parked', attemptsMax: 1 },
        'business conflict': { terminal: 'dead-lettered' },
      },
    },
  },
  'money in order, nobody said that it may pass': {
    risk: 'money',
    order: 'key',
    identity: { id, orderKey: m => m.key },
    message: { schema },
  },
  'money in order, somebody said so': {
    risk: 'money',
    order: 'key',
    identity: { id, orderKey: m => m.key },
    failure: { deadLetter: { to: 'dead', passingAcceptedBy: 'ann' } },
  },
  'the content as id': { identity: { id: 'content' } },
  'tombstones are handled': {
    identity: { id: idOrTombstone as typeof id },
    message: { tombstones: 'handle' as never },
  },
  'a person reviews': {
    failure: { deadLetter: { to: 'dead', manualReviewRequired: true } },
    message: { schema },
  },
}

/** The outcome of the last message and how often its handler was called, as a running consumer has it. */
async function stage(contract: Contract, situation: Situation) {
  const env = createTestEnvironment()
  const queue = new MemoryQueue()
  let calls = 0
  const calledFor = (m: Note | null) => m?.id !== 'later' && calls++
  const consumer = defineConsumer<Note, MemoryTransaction>({
    name: 'notes',
    owner: 'unit',
    risk: 'low value',
    source: { kind: 'memory' },
    identity: { id },
    ...contract,
    failure: { delayMs: 1_000, delayMaxMs: 1_000, ...contract.failure, classes },
    handle({ message }) {
      calledFor(message)
      if (message === null) return
      if (message.do in verdicts) return verdicts[message.do]!('said so') as never
      if (message.do !== '') throw Object.assign(new Error('always'), { code: message.do })
    },
  })
  const one = new ConsumerProcess({
    consumer,
    source: queue,
    store: new MemoryStore(),
    env,
    mode: 'live',
    instance: 'unit',
  })
  await one.start()
  one.finished.catch(() => {})
  const { before, about } = staged[situation]
  if (before !== undefined) {
    queue.publish({ body: JSON.stringify(before) })
    await env.advance(100)
    assert.deepEqual(one.tally.outcomes, { [before.do === 'park' ? 'parked' : 'applied']: 1 })
    calls = 0
  }
  queue.publish({
    body: typeof about === 'string' ? about : JSON.stringify(about),
    properties: about === '' ? { tombstone: true } : {},
  })
  await env.advance(20_000)
  const later = await laterMessage(one, env, queue)
  const outcomes = { ...later.outcomes }
  if (before !== undefined) outcomes[before.do === 'park' ? 'parked' : 'applied']!--
  const { retry = 0, ...ends } = outcomes
  const ended = Object.keys(ends).filter(outcome => ends[outcome]! > 0)
  const outcome = one.state === 'halted' ? 'halted' : (ended[0] ?? (retry > 0 ? 'retry' : 'nothing'))
  assert.ok(ended.length <= 1, `one outcome, not ${ended}`)
  if (one.state === 'running') one.leave()
  return { consumer, outcome, calls, later }
}

/** Whether a later message of the same key is applied. */
async function laterMessage(
  one: ConsumerProcess<Note, MemoryTransaction>,
  env: TestEnvironment,
  queue: MemoryQueue,
): Promise<{ readonly outcomes: Readonly<Record<string, number>>; readonly word: 'wait' | 'continue' }> {
  const outcomes = { ...one.tally.outcomes }
  queue.publish({ body: JSON.stringify({ ...note, id: 'later' }) })
  await env.advance(20_000)
  const { applied = 0 } = one.tally.outcomes
  return { outcomes, word: applied > (outcomes.applied ?? 0) ? 'continue' : 'wait' }
}

describe('the outcome on the page is the outcome of the message', () => {
  for (const [name, contract] of Object.entries(contracts))
    test(name, async () => {
      const page = behaviourOf({
        ...(await stage(contract, 'ignored')).consumer,
        source: { kind: 'kafka' },
      } as never)
      assert.ok(page.length >= 14)
      for (const said of page) {
        const { outcome, calls, later } = await stage(contract, said.situation)
        assert.equal(outcome, said.outcome, said.when)
        if (said.attempts !== null) assert.equal(calls, said.attempts, `attempts: ${said.when}`)
        if (said.later !== null) assert.equal(later.word, said.later, `later messages: ${said.when}`)
      }
    })

  test('of a business key, other content is a conflict only where the contract names the content', async () => {
    const said = async (name: string) => {
      const { consumer } = await stage(contracts[name]!, 'ignored')
      return behaviourOf(consumer as never).find(({ situation }) => situation === 'keyAltered')?.outcome
    }
    assert.equal(await said('an id alone'), undefined)
    assert.equal(await said('a business key without a digest'), 'duplicate')
    assert.equal(await said('a business key with a digest'), 'quarantined')
  })

  test('of content as id, other content is another message, and the page has no such conflict', async () => {
    const { consumer, outcome } = await stage(contracts['the content as id']!, 'altered')
    assert.equal(outcome, 'applied')
    assert.ok(behaviourOf(consumer as never).every(({ situation }) => situation !== 'altered'))
  })

  for (const [action, text, ended] of [
    ['slowed', 'waits before it is tried', { applied: 1 }],
    ['isolated', 'is tried alone', { applied: 1 }],
    ['set aside', 'is set aside', { parked: 1 }],
  ] as const)
    test(`a message that is delivered too often ${text}`, async () => {
      const failure = { redelivery: { countMax: 2, action }, delayMs: 1_000, delayMaxMs: 1_000 }
      const env = createTestEnvironment()
      const queue = new MemoryQueue()
      const store = new MemoryStore()
      const consumerOf = (handle: () => Promise<void>) =>
        defineConsumer<Note, MemoryTransaction>({
          name: 'notes',
          owner: 'unit',
          risk: 'low value',
          source: { kind: 'memory' },
          identity: { id },
          failure,
          handle,
        })
      const start = async (handle: () => Promise<void>) => {
        const consumer = consumerOf(handle)
        const one = new ConsumerProcess({
          consumer,
          source: queue,
          store,
          env,
          mode: 'live',
          instance: 'unit',
        })
        await one.start()
        one.finished.catch(() => {})
        await env.advance(100)
        return one
      }
      queue.publish({ body: JSON.stringify(note) })
      queue.publish({ body: JSON.stringify({ ...note, id: 'm0' }) })
      for (let deliveries = 0; deliveries < 2; deliveries++)
        (await start(() => new Promise(() => {}))).leave()
      const calls: number[] = []
      const one = await start(async () => void calls.push(env.clock.nowMs()))
      const atOnce = calls.length
      await env.advance(20_000)
      assert.deepEqual(
        Object.fromEntries(Object.entries(one.tally.outcomes).filter(([outcome]) => outcome !== 'retry')),
        Object.fromEntries(Object.entries(ended).map(([outcome, count]) => [outcome, count * 2])),
      )
      assert.equal(atOnce, action === 'isolated' ? 2 : 0)
      const page = contractPage({
        ...consumerOf(async () => {}),
        source: { kind: 'rabbitmq', queue: 'q' },
      } as never)
      assert.match(
        page.sections.find(({ title }) => title === 'Poison behavior')!.text,
        new RegExp(`2 earlier deliveries ${text}`),
      )
      one.leave()
    })

  for (const dedup of ['marker', 'checkpoint'] as const)
    for (const position of [true, false]) {
      const identity = position ? ({ id: 'position' } as const) : { id: (m: { id: string }) => m.id }
      test(`of a log read with dedup ${dedup}, ${position ? 'by position' : 'by id'}: an event written twice`, async () => {
        const rig = logRig({ p: { 0: 'a', 1: 'a' } })
        const one = await rig.start({ dedup, identity })
        await rig.env.advance(1_000)
        const { applied = 0, duplicate = 0 } = one.tally.outcomes
        const consumer = {
          dedup,
          identity,
          failure: failureRules({} as never),
          message: {},
          order: 'partition',
          source: { kind: 'kafka' },
        }
        const [again] = behaviourOf(consumer as never)
        assert.deepEqual([applied, duplicate], again!.outcome === 'applied' ? [2, 0] : [1, 1])
        one.leave()
      })
    }
})
