import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import fc from 'fast-check'
import {
  type CampaignMode,
  defineConsumer,
  ignore,
  openReplay,
  park,
  type Running,
  reject,
  retryAfter,
  type Selection,
} from 'onceward'
import { until } from 'onceward/testing'
import { previewParked } from '../../src/operations/parking/preview-parked.ts'
import { skipParked } from '../../src/operations/parking/skip-parked.ts'
import { releaseHeld } from '../../src/operations/work/release-held.ts'
import { contractsOf } from '../matrix/contracts-of.ts'
import { skipWithout } from '../services/services.ts'
import { type Job, type JobContext, jobContract, Scene, write } from '../work/scene.ts'
import { unlessRefused } from './allowed-refusals.ts'
import { replayAll } from './parked-scene.ts'

/** What a message does at its first tries; then it is applied. */
type Try = 'fail' | 'retry' | 'ignore' | 'reject' | 'park' | 'apply'
interface Plan {
  readonly key: string
  readonly part: string
  readonly version: number
  readonly tries: readonly Try[]
}
type Step =
  | { readonly do: 'publish'; readonly plans: readonly Plan[] }
  | { readonly do: 'replay' | 'restart' | 'wait' }
  | { readonly do: 'repair' | 'replay key' | 'campaign on parked'; readonly key: string }
  | { readonly do: 'replay one' | 'release one' | 'skip one'; readonly at: number }

/**
 * Often a message holds its key for a while and then ends without an effect: that is when those that wait for
 * it must go on.
 */
const tries = fc.oneof(
  fc.constantFrom<readonly Try[]>(['park', 'ignore'], ['fail', 'reject'], ['park', 'reject'], []),
  fc.array(fc.constantFrom<Try>('fail', 'retry', 'park', 'ignore', 'reject', 'apply'), { maxLength: 3 }),
)
const plan: fc.Arbitrary<Plan> = fc.record({
  key: fc.constantFrom('k1', 'k2', 'k3'),
  part: fc.constantFrom('cap-1', 'cap-2'),
  version: fc.constantFrom(1, 1, 1, 2),
  tries,
})
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('publish' as const),
      plans: fc.array(plan, { minLength: 1, maxLength: 4 }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constantFrom('replay one' as const, 'release one' as const, 'skip one' as const),
      at: fc.nat(9),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constantFrom('repair' as const, 'replay key' as const, 'campaign on parked' as const),
      key: fc.constantFrom('k1', 'k2', 'cap-1', 'cap-2'),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constantFrom('replay' as const, 'restart' as const, 'wait' as const) }),
  },
)

const retries = { attemptsMax: 2, delayMs: 5, delayMaxMs: 10 }
const contracts = contractsOf({ mode: 'live', source: 'postgres', dedup: 'marker', store: 'pooled' })

/** One schedule on one consumer. */
class Schedule {
  readonly #scene: Scene
  readonly #name: string
  readonly #changes: object
  readonly #tries = new Map<string, Try[]>()
  readonly #published: Job[] = []
  #acts = 0
  #running!: Running

  constructor(scene: Scene, name: string, { order, inbox, failure }: (typeof contracts)[number]) {
    this.#scene = scene
    this.#name = name
    this.#changes = {
      order,
      inbox: { ...inbox, leaseMs: 2_000 },
      failure: { ...failure, ...retries },
      // Campaigns of consumers of money need the approval of a second person.
      risk: 'low value',
      replay: { modes: ['replay', 'repair'] },
      batch: { sizeMax: 3 },
      identity: {
        id: (m: Job) => m.id,
        orderKey: (m: Job) => m.key,
        businessKey: (m: Job) => m.part,
        businessDigest: (m: Job) => m.version,
      },
      handle: (context: JobContext) => this.#handle(context),
    }
  }

  async play(steps: readonly Step[]): Promise<void> {
    await this.#publish([{ key: 'k1', part: 'cap-1', version: 1, tries: ['park', 'ignore'] }])
    this.#running = await this.#scene.start(this.#name, this.#changes)
    for (const one of steps) await this.#take(one)
    await until(
      'nothing waits any more',
      async () => {
        await this.#replay({ states: ['parked'] })
        return (await this.#isIdle()) && (await this.#waiting()).length === 0
      },
      { deadlineMs: 90_000 },
    )
    await this.#running.drain()
    await this.#check()
  }

  /**
   * A batch may run twice before it commits: what a try does is used up by what is decided, near enough by
   * its being said.
   */
  async #handle(context: JobContext) {
    const said = this.#tries.get(context.message.id)?.shift() ?? 'apply'
    if (said === 'fail') throw new Error('not yet')
    if (said === 'retry') return retryAfter(5, 'later')
    if (said === 'park') return park('a person decides')
    if (said === 'ignore') return ignore('nothing to do')
    if (said === 'reject') return reject('wrong')
    await write(context, this.#name)
    return undefined
  }

  async #check(): Promise<void> {
    const done = await this.#scene.done(this.#name)
    const status = new Map(
      (await this.#scene.markers(this.#name)).map(one => one.split(' ') as [string, string]),
    )
    for (const part of ['cap-1', 'cap-2']) {
      const mine = this.#published.filter(job => job.part === part).map(job => job.id)
      const effects = done.filter(id => mine.includes(id))
      assert.ok(effects.length <= 1, `${part} has the effects ${effects}`)
      for (const id of mine) {
        const ended = status.get(id)
        if (effects.includes(id)) assert.equal(ended, 'applied', id)
        else if (effects.length === 1)
          assert.ok(['duplicate', 'quarantined', 'ignored', 'dead'].includes(ended!), `${id} is ${ended}`)
        else assert.ok(['ignored', 'dead'].includes(ended!), `${id} is ${ended} without an effect of ${part}`)
      }
    }
  }

  async #take(one: Step): Promise<void> {
    if ('plans' in one) return this.#publish(one.plans)
    if (one.do === 'replay') return this.#replay({})
    if (one.do === 'wait')
      return until('the queue is idle', () => this.#isIdle(), { deadlineMs: 3_000 }).catch(() => {})
    if (one.do === 'restart') {
      await this.#scene.leave(this.#running)
      this.#running = await this.#scene.start(this.#name, this.#changes)
      return
    }
    if ('at' in one) return void (await unlessRefused(this.#act(one)))
    if (!('key' in one)) throw new Error(`no such step: ${one.do}`)
    if (one.do === 'replay key') return this.#replay({ key: one.key })
    await unlessRefused(this.#campaign(one))
  }

  async #campaign({ do: what, key }: Extract<Step, { readonly key: string }>): Promise<void> {
    const folder = await mkdtemp(join(tmpdir(), 'onceward-waits-'))
    const path = join(folder, 'published.jsonl')
    await writeFile(path, this.#published.map(job => `${JSON.stringify(job)}\n`).join(''))
    const [mode, selection]: [CampaignMode, Selection] =
      what === 'repair'
        ? ['repair', { of: 'file', path, keys: [key] }]
        : ['replay', { of: 'parked', keys: [key] }]
    const replay = await openReplay(defineConsumer(jobContract(this.#name, this.#changes)), {
      databaseUrl: this.#scene.url,
    })
    try {
      const { id } = await replay.create({ mode, selection, reason: 'a test' })
      await replay.preview(id)
      const { state } = await replay.run(id)
      assert.equal(state, 'ran')
    } finally {
      await replay.close()
      await rm(folder, { recursive: true })
    }
  }

  /** A row that was taken up in between is refused, and nothing is changed. */
  async #act(one: Extract<Step, { readonly at: number }>): Promise<void> {
    const held = await this.#scene.held(this.#name)
    const row = held[one.at % Math.max(1, held.length)]
    if (row === undefined) return
    const consumer = this.#name
    if (one.do === 'release one')
      return void (await releaseHeld(this.#scene.pool, { id: row.id, consumer, because: 'go on' }))
    if (one.do === 'replay one') return this.#replay({ ids: [row.id] })
    const { digest } = await previewParked(this.#scene.pool, { consumer, ids: [row.id], countMax: 1 })
    await skipParked(this.#scene.pool, { consumer, ids: [row.id], digest, because: 'old' })
  }

  async #publish(plans: readonly Plan[]): Promise<void> {
    const jobs = plans.map(({ tries, ...job }, n) => {
      const id = `m${String(this.#published.length + n).padStart(3, '0')}`
      this.#tries.set(id, [...tries])
      return { id, ...job }
    })
    this.#published.push(...jobs)
    await this.#scene.publish(this.#name, ...jobs)
  }

  async #isIdle(): Promise<boolean> {
    const held = await this.#scene.held(this.#name)
    return (await this.#scene.depth(this.#name)) === 0 && held.every(row => row.state !== 'stored')
  }

  async #waiting() {
    return (await this.#scene.held(this.#name)).filter(
      row => row.state === 'parked' || row.state === 'stored',
    )
  }

  async #replay(filter: object): Promise<void> {
    const { rows } = await previewParked(this.#scene.pool, { consumer: this.#name, countMax: 1, ...filter })
    if (rows.length === 0) return
    await unlessRefused(replayAll(this.#scene, this.#name, `${this.#name}-${++this.#acts}`, filter))
  }
}

describe('waits for business keys', await skipWithout('postgres'), () => {
  let scene: Scene
  before(async () => {
    scene = await Scene.open()
    await scene.pool.query('insert into onceward.person (role_name) values (session_user)')
  })
  after(() => scene.close())

  let schedules = 0
  for (const contract of contracts) {
    it(`${contract.name}: for any failures, redrives, releases, skips, repairs and restarts, all drains, and each key has one effect, or none and an outcome of each message`, async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 10 }), steps =>
          new Schedule(scene, `waits_${++schedules}`, contract).play(steps),
        ),
        { numRuns: Number(process.env.ONCEWARD_PROPERTY_RUNS ?? 3), endOnFailure: true },
      )
    })
  }
})
