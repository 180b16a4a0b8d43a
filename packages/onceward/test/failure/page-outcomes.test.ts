import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import {
  type ConsumerContract,
  defineConsumer,
  ignore,
  park,
  projection,
  reject,
  type SqlTransaction,
} from 'onceward'
import { publish } from 'onceward/postgres'
import { until } from 'onceward/testing'
import { type Behaviour, behaviourOf, type Situation } from '../../src/review/page/behaviour.ts'
import { skipWithout } from '../services/services.ts'
import { type Job, jobContract, Scene } from '../work/scene.ts'

interface Note extends Job {
  readonly text: string
  readonly do: string
}
const note = (situation: Situation, changes: Partial<Note> = {}): Note => ({
  id: situation,
  key: `key of ${situation}`,
  part: `part of ${situation}`,
  version: 1,
  text: 'a',
  do: '',
  ...changes,
})
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
const verdicts: Record<string, (reason: string) => unknown> = {
  ignored: ignore,
  parked: park,
  rejected: reject,
}

/** The messages before a situation, and the one that it is about. */
function messagesOf(situation: Situation): readonly [before: readonly Note[], about: Note | string] {
  const first = note(situation)
  switch (situation) {
    case 'again':
      return [[first], first]
    case 'altered':
      return [[first], { ...first, text: 'b' }]
    case 'keyAgain':
    case 'keyAltered':
      return [
        [{ ...first, id: `first of ${situation}` }],
        situation === 'keyAgain' ? first : { ...first, text: 'b' },
      ]
    case 'keyHeld':
      return [[{ ...first, id: 'first of keyHeld', do: 'parked' }], first]
    case 'undecodable':
      return [[], 'no JSON']
    case 'idMissing':
      return [[], { ...first, id: undefined as never }]
    default:
      return [[], { ...first, do: situation }]
  }
}

const byKey = { order: 'key' } as const
const keyed = { businessKey: (m: Note) => m.part, businessDigest: (m: Note) => m.text }
/** What the memory store cannot stage. */
const contracts: Record<string, Partial<ConsumerContract<Note, SqlTransaction>>> = {
  'blocking, by key': { ...byKey, inbox: { mode: 'transactional' }, failure: { mode: 'block' } },
  'deferring, by key': { ...byKey, inbox: { mode: 'transactional' }, failure: { mode: 'defer' } },
  'deferring, without order': { inbox: { mode: 'transactional' }, failure: { mode: 'defer' } },
  'stored, by key': { ...byKey, inbox: { mode: 'stored' } },
  'stored, without order': { inbox: { mode: 'stored' } },
}

describe('the outcome on the page is the outcome on PostgreSQL', await skipWithout('postgres'), () => {
  let scene: Scene
  before(async () => {
    scene = await Scene.open()
    await scene.pool.query(
      'create table board (id text primary key, version bigint not null, digest bytea, text text)',
    )
  })
  after(() => scene.close())

  const send = (name: string, bodies: readonly (Note | string)[]) =>
    publish(
      scene.pool,
      name,
      bodies.map(body =>
        typeof body === 'string'
          ? { body: Buffer.from(body), key: 'no JSON' }
          : { body, key: body.key ?? null },
      ) as never,
    )

  let names = 0
  for (const [title, contract] of Object.entries(contracts))
    test(title, async () => {
      const name = `page_${++names}`
      const calls = new Map<string, number>()
      const changes = {
        ...contract,
        identity: { id: (m: Note) => m.id, orderKey: (m: Note) => m.key, ...keyed },
        batch: { sizeMax: 5 },
        failure: {
          ...contract.failure,
          attemptsMax: 3,
          delayMs: 1,
          delayMaxMs: 2,
          classes,
          breaker: false,
          brake: false,
        },
        handle: async ({ message }: { message: Note }) => {
          calls.set(message.id, (calls.get(message.id) ?? 0) + 1)
          if (message.do in verdicts) return verdicts[message.do]!('said so')
          if (message.do !== '') throw Object.assign(new Error('always'), { code: message.do })
          return undefined
        },
      } as object
      const page = behaviourOf(defineConsumer(jobContract(name, changes)) as never)
      assert.ok(page.length >= 18)
      const staged = page.map(said => [said, ...messagesOf(said.situation)] as const)
      await scene.publish(name)
      const running = await scene.start(name, changes)
      const earlier = staged.flatMap(([, messages]) => messages)
      await send(name, earlier)
      await until('the earlier messages have ended', async () => {
        const ended = await scene.markers(name)
        return earlier.every(({ id }) => ended.some(one => one === `${id} applied` || one === `${id} parked`))
      })
      const before = new Map(calls)
      await send(
        name,
        staged.map(([, , about]) => about),
      )
      for (const [said] of staged)
        await until(
          `${said.when}: ${said.outcome}${said.attempts === null ? '' : ` after ${said.attempts}`}`,
          () => hasEnded(name, said, { calls, before }),
          { deadlineMs: 30_000 },
        )
      await scene.leave(running)
      for (const { situation, attempts, when } of page)
        if (attempts !== null) assert.equal(calls.get(situation), attempts, when)
    })

  async function hasEnded(
    name: string,
    { situation, outcome, attempts }: Behaviour,
    { calls, before }: { calls: ReadonlyMap<string, number>; before: ReadonlyMap<string, number> },
  ): Promise<boolean> {
    const held = await scene.held(name)
    const mine = held.filter(({ message_id: id }) => id === situation).map(({ state }) => state)
    const marker = (await scene.markers(name)).find(one => one.startsWith(`${situation} `))?.split(' ')[1]
    const handled = (calls.get(situation) ?? 0) - (before.get(situation) ?? 0)
    if (situation === 'undecodable' || situation === 'idMissing')
      return held.filter(row => row.message_id === null && row.state === outcome).length === 2
    switch (outcome) {
      case 'applied':
        return marker === 'applied' && handled === 1
      case 'duplicate':
        if (situation === 'again')
          return marker === 'applied' && handled === 0 && mine.length === 0 && (await scene.depth(name)) === 0
        return marker === 'duplicate' && handled === 0
      case 'ignored':
        return marker === 'ignored'
      case 'dead-lettered':
        return mine.includes('dead')
      case 'parked':
      case 'quarantined':
        return mine.includes(outcome)
      default:
        return attempts === null && handled > 5 && marker !== 'applied'
    }
  }

  test('with dedup version, the effect decides: an older or equal version is skipped, other content is quarantined', async () => {
    const name = 'page_version'
    const changes = {
      dedup: 'version',
      inbox: { mode: 'transactional' },
      failure: { attemptsMax: 2, delayMs: 1 },
      effect: {
        apply: projection<Note>({
          table: 'board',
          key: { id: 'key' },
          version: { version: 'version' },
          columns: { text: 'text' },
          digest: 'digest',
          gap: 'skips allowed',
        }),
      },
    } as object
    const page = behaviourOf(defineConsumer(jobContract(name, changes)) as never)
    assert.ok(page.every(({ situation }) => situation !== 'again' && situation !== 'altered'))
    await scene.publish(name)
    const running = await scene.start(name, changes)
    const [first, second] = [note('again', { version: 2 }), note('altered', { version: 2 })]
    await send(name, [first, second, 'no JSON'])
    const rows = async () =>
      (await scene.pool.query('select id, version::int, text from board order by id')).rows
    await until('both rows are there', async () => (await rows()).length === 2)
    await send(name, [first, { ...first, version: 1, text: 'old' }, { ...second, text: 'b' }])
    await until('all are settled', async () => (await scene.depth(name)) === 0)
    await scene.leave(running)
    assert.deepEqual(await rows(), [
      { id: 'key of again', version: 2, text: 'a' },
      { id: 'key of altered', version: 2, text: 'a' },
    ])
    const held = (await scene.held(name)).map(row => `${row.message_id} ${row.state}`).sort()
    assert.deepEqual(held, ['altered quarantined', 'null quarantined'])
    const [undecodable] = page.filter(({ situation }) => situation === 'undecodable')
    assert.equal(undecodable!.outcome, 'quarantined')
  })
})
