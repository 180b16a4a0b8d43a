import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import fc from 'fast-check'
import type { Running } from 'onceward'
import { until } from 'onceward/testing'
import { noteStateFixed } from '../../src/operations/parking/fix-parked.ts'
import { previewParked } from '../../src/operations/parking/preview-parked.ts'
import { skipParked } from '../../src/operations/parking/skip-parked.ts'
import { contractsOf } from '../matrix/contracts-of.ts'
import { skipWithout } from '../services/services.ts'
import { type Job, type JobContext, Scene, write } from '../work/scene.ts'
import { unlessRefused } from './allowed-refusals.ts'
import { inOrder, isIdle, replayAll } from './parked-scene.ts'

type Step =
  | { readonly do: 'publish'; readonly key: string; readonly failures: readonly number[] }
  | { readonly do: 'replay' | 'restart' | 'wait' }
  | { readonly do: 'replay key' | 'skip head' | 'fix head'; readonly key: string }

const keys = ['a', 'b', 'c'] as const
const key = fc.constantFrom(...keys)
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('publish' as const),
      key,
      // How often each fails: mostly never.
      failures: fc.array(fc.constantFrom(0, 0, 0, 1, 2), { minLength: 1, maxLength: 5 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constantFrom('replay key' as const, 'skip head' as const, 'fix head' as const),
      key,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constantFrom('replay' as const, 'restart' as const, 'wait' as const) }),
  },
)

const contracts = contractsOf({
  mode: 'live',
  source: 'postgres',
  dedup: 'marker',
  store: 'pooled',
  order: 'key',
})
/** A mode that retries by itself does it soon; the others park at the first failure. */
const failures = {
  block: inOrder.failure,
  defer: { attemptsMax: 2, delayMs: 5, delayMaxMs: 10 },
}

/** One schedule on one consumer: what was published, what was given up, what is still to fail. */
class Schedule {
  readonly #scene: Scene
  readonly #name: string
  readonly #changes: object
  readonly #toFail = new Map<string, number>()
  readonly #published: Job[] = []
  readonly #skipped = new Set<string>()
  #replays = 0
  #running!: Running

  constructor(scene: Scene, name: string, { order, inbox, failure }: (typeof contracts)[number]) {
    this.#scene = scene
    this.#name = name
    this.#changes = {
      order,
      inbox: { ...inbox, leaseMs: 2_000 },
      failure: { ...failure, ...failures[failure.mode as keyof typeof failures] },
      batch: { sizeMax: 3 },
      handle: async (context: JobContext) => {
        const left = this.#toFail.get(context.message.id) ?? 0
        if (left > 0) {
          this.#toFail.set(context.message.id, left - 1)
          throw new Error('not yet')
        }
        await write(context, name)
      },
    }
  }

  async play(steps: readonly Step[]): Promise<void> {
    await this.#publish('a', [0])
    this.#running = await this.#scene.start(this.#name, this.#changes)
    for (const one of steps) await this.#take(one)
    await until(
      'everything is applied or given up',
      async () => {
        await this.#replay({})
        return (await isIdle(this.#scene, this.#name)) && (await this.#scene.held(this.#name)).length === 0
      },
      { deadlineMs: 60_000 },
    )
    await this.#running.drain()
    const done = await this.#scene.done(this.#name)
    for (const one of keys) {
      const mine = this.#published
        .filter(job => job.key === one && !this.#skipped.has(job.id))
        .map(job => job.id)
      assert.deepEqual(
        done.filter(id => id.startsWith(one)),
        mine,
        `key ${one}`,
      )
    }
  }

  async #take(one: Step): Promise<void> {
    if ('failures' in one) return this.#publish(one.key, one.failures)
    if (one.do === 'replay') return this.#replay({})
    if (!('key' in one)) return this.#pause(one.do)
    if (one.do === 'replay key') return this.#replay({ key: one.key })
    const { rows } = await previewParked(this.#scene.pool, {
      consumer: this.#name,
      key: one.key,
      states: ['parked'],
      countMax: 1,
    })
    const [head] = rows
    if (head === undefined) return
    if (one.do === 'fix head') {
      await unlessRefused(
        noteStateFixed(this.#scene.pool, { id: head.id, consumer: this.#name, because: 'mended' }),
      )
      return
    }
    const { digest } = await previewParked(this.#scene.pool, {
      consumer: this.#name,
      ids: [head.id],
      countMax: 1,
    })
    // Taken up in between it is refused, and nothing is given up.
    const skipped = await unlessRefused(
      skipParked(this.#scene.pool, { consumer: this.#name, ids: [head.id], digest, because: 'old' }),
    )
    if (skipped !== null) this.#skipped.add(head.messageId!)
  }

  async #pause(what: 'wait' | 'restart'): Promise<void> {
    if (what === 'wait')
      return until('the queue is idle', () => isIdle(this.#scene, this.#name), { deadlineMs: 5_000 }).catch(
        () => {},
      )
    await this.#scene.leave(this.#running)
    this.#running = await this.#scene.start(this.#name, this.#changes)
  }

  async #publish(key: string, failures: readonly number[]): Promise<void> {
    const jobs = failures.map((count, n) => {
      const id = `${key}-${String(this.#published.length + n).padStart(4, '0')}`
      if (count > 0) this.#toFail.set(id, count)
      return { id, key }
    })
    this.#published.push(...jobs)
    await this.#scene.publish(this.#name, ...jobs)
  }

  /**
   * Somebody may take a row up between the look and the order: then the order is refused, and given again
   * later.
   */
  async #replay(filter: object): Promise<void> {
    const { rows } = await previewParked(this.#scene.pool, { consumer: this.#name, countMax: 1, ...filter })
    if (rows.length === 0) return
    await unlessRefused(replayAll(this.#scene, this.#name, `${this.#name}-${++this.#replays}`, filter))
  }
}

describe('ordered parking', await skipWithout('postgres'), () => {
  let scene: Scene
  before(async () => {
    scene = await Scene.open()
  })
  after(() => scene.close())

  let schedules = 0
  for (const contract of contracts) {
    it(`${contract.name}: for any failures, fixes, redrives, skips and restarts, each key's effects are its messages in order, minus the skipped`, async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 14 }), steps =>
          new Schedule(scene, `parking_${++schedules}`, contract).play(steps),
        ),
        { numRuns: Number(process.env.ONCEWARD_PROPERTY_RUNS ?? 5), endOnFailure: true },
      )
    })
  }
})
