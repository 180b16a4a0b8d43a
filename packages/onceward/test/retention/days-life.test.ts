import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { defineConsumer, ignore, park, realEnvironment, retryAfter } from 'onceward'
import { until } from 'onceward/testing'
import { partitionConsumer } from '../../src/operations/retention/partition-consumer.ts'
import { skipWithout } from '../services/services.ts'
import { type Job, type JobContext, jobContract, Scene, write } from '../work/scene.ts'
import { type IdForm, idAt, noon } from './days-scene.ts'

const turns = ['apply', 'ignore', 'park', 'again', 'apply']

describe('a consumer whose markers are moved into days', await skipWithout('postgres'), () => {
  for (const form of ['uuidv7', 'ulid'] as const) {
    for (const mode of ['transactional', 'stored'] as const) {
      test(`one effect for each id, before, across and after (${form}, ${mode})`, async t => {
        const scene = await Scene.open()
        t.after(() => scene.close())
        const warned: string[] = []
        const log = { ...realEnvironment().log, warn: (text: string) => void warned.push(text) }
        const tried = new Set<string>()
        const changes = {
          inbox: { mode },
          order: 'none' as const,
          identity: { id: (job: Job) => job.id, idTime: form },
          retention: { markers: '30d', sourceKeeps: '20d', partitions: 'daily' as const },
          failure: {
            delayMs: 5,
            delayMaxMs: 10,
            ...(mode === 'transactional' && { mode: 'defer' as const }),
          },
          handle: (context: JobContext) => turn(context, tried),
        }
        const waves = [0, 1, 2].map(wave => jobs(form, wave))
        // A second consumer with the same ids: its markers lie at the same places of other pages.
        await scene.store('beside', { inbox: { mode: 'transactional' }, order: 'none' }, ...waves.flat())
        const beside = await scene.markers('beside')
        const settled = async (wave: readonly Job[]) => {
          await scene.publish('remembering', ...wave)
          await until('all is settled', async () => (await scene.depth('remembering')) === 0)
          await until('all work is done', async () =>
            (await scene.held('remembering')).every(row => row.state === 'parked'),
          )
        }

        const before = await scene.start('remembering', changes, { env: { log } })
        await settled(waves[0]!)
        await until('it is warned of', () =>
          warned.some(text => text.includes('onceward retention partition')),
        )
        const { moved, already } = await partitionConsumer(
          scene.pool,
          defineConsumer(jobContract('remembering', changes)),
        )
        assert.deepEqual([moved, already], [waves[0]!.length, false])
        await settled([...waves[0]!, ...waves[1]!])
        await before.drain()

        warned.length = 0
        const after = await scene.start('remembering', changes, { env: { log } })
        await settled([...waves.flat(), ...waves.flat()])
        await after.drain()
        assert.deepEqual(
          warned.filter(text => text.includes('partition')),
          [],
        )
        const expected = waves.flat().filter(({ part }) => part === 'apply' || part === 'again')
        assert.deepEqual((await scene.done('remembering')).sort(), expected.map(({ id }) => id).sort())
        const words = { apply: 'applied', again: 'applied', ignore: 'ignored', park: 'parked' }
        assert.deepEqual(
          await scene.markers('remembering'),
          waves
            .flat()
            .map(({ id, part }) => `${id} ${words[part as keyof typeof words]}`)
            .sort(),
        )
        assert.deepEqual(await scene.markers('beside'), beside, 'nothing of another consumer')
        const { rows } = await scene.pool.query(
          `select count(distinct tableoid)::int as tables from onceward.inbox where consumer_id = (select id from onceward.consumer where name = 'remembering')`,
        )
        assert.equal(rows[0].tables, 4, 'three days and the rest')
      })
    }
  }
})

/** Every way to end, on every kind of day, and ids that are of no form. */
function jobs(form: IdForm, wave: number): Job[] {
  const of = (place: string, id: (n: number) => string) =>
    turns.map((part, n) => ({ id: id(wave * 10 + n), key: place, part }))
  return [
    ...of('yesterday', n => idAt(form, noon(1), n)),
    ...of('today', n => idAt(form, noon(0), n)),
    ...of('tomorrow', n => idAt(form, noon(-1), n)),
    ...of('odd', n => `odd-${n}`),
    ...of('other case', n => odd(idAt(form, noon(0), n))),
  ]
}

/** The same, spelt otherwise: another id. */
function odd(id: string): string {
  return id === id.toUpperCase() ? id.toLowerCase() : id.toUpperCase()
}

async function turn(context: JobContext, tried: Set<string>) {
  const { id, part } = context.message
  if (part === 'ignore') return ignore('told to')
  if (part === 'park') return park('told to')
  if (part === 'again' && !tried.has(id)) {
    tried.add(id)
    return retryAfter(5)
  }
  await write(context, 'remembering')
}
