import assert from 'node:assert/strict'
import { after, before, describe, it, type TestContext } from 'node:test'
import { skipWithout } from '../../onceward/test/services/services.ts'
import { type ServedConsole, serveConsole } from '../src/server/serve-console.ts'
import { Client } from './bench/client.ts'
import { consumer, held, type ManyHeld, openManyHeld } from './bench/many-held.ts'

const count = 60

/** Where nothing else runs; docs/console-platform.md has the figures. */
const pageMaxMs = 100
const textMaxMs = 2_000

describe(
  `the times of searches among ${held.toLocaleString('en')} held messages`,
  await skipWithout('postgres'),
  () => {
    let many: ManyHeld
    let served: ServedConsole
    const quietest = Number.POSITIVE_INFINITY

    before(async () => {
      many = await openManyHeld()
      served = await serveConsole({ database: many.url, port: 0, auth: { kind: 'link' } })
      for (let n = 0; n < count; n++) await reference()
    })
    after(async () => {
      await served?.close()
      await many?.close()
    })

    const ask = async (client: Client, q: string, before: string) => {
      const began = performance.now()
      const { status, body } = await client.get(`messages?q=${encodeURIComponent(q)}${before}`)
      assert.equal(status, 200)
      return { ms: performance.now() - began, body }
    }
    /** The same work each time: it tells how much longer the machine takes because others use it. */
    const reference = async () => {
      const began = performance.now()
      await many.pool.query('select count(*) from generate_series(1, 100000) n where n::text like $1', [
        '%x%',
      ])
      return performance.now() - began
    }
    const report = (t: TestContext, what: string, times: number[], references: number[], maxMs: number) => {
      const at = (of: number[], share: number) =>
        of.toSorted((a, b) => a - b)[Math.ceil(of.length * share) - 1]!
      const slower = Math.max(1, at(references, 0.95) / quietest)
      const [median, p95, slowest] = [0.5, 0.95, 1].map(share => at(times, share).toFixed(0))
      const figures = `${what}: median ${median} ms, p95 ${p95} ms, slowest ${slowest} ms`
      t.diagnostic(`${figures}; others made a reference ${slower.toFixed(1)} times slower at p95`)
      assert.ok(at(times, 0.95) <= maxMs * slower, figures)
    }

    const rareCause = async () => {
      const { rows } = await many.pool.query(`select onceward.cause_of(failure_class, code,
        onceward.place_of(place, origin, message_type)) as cause from onceward.held where code = 'rare' limit 1`)
      return rows[0].cause as string
    }

    for (const q of [
      '',
      `consumer:${consumer} state:dead`,
      'code:code_3',
      'code:rare',
      'key:k-77',
      'message:m-5',
      'business:b-77',
      'type:type_1',
      'type:type_rare',
      'class:validation',
      'label:bank',
      'assignee:bob',
      'since:1h',
      'cause:',
    ])
      it(`${q || 'everything'}, page after page`, async t => {
        const asked = q === 'cause:' ? `cause:${await rareCause()}` : q
        const ann = await Client.signIn(served.linkFor('ann'))
        const [times, references]: [number[], number[]] = [[], []]
        let before = ''
        for (let n = 0; n < count; n++) {
          const { ms, body } = await ask(ann, asked, before)
          times.push(ms)
          references.push(await reference())
          before = body.next === null ? '' : `&before=${body.next}`
        }
        report(t, q || 'everything', times, references, pageMaxMs)
      })

    it('a text that is nowhere, to the end', async t => {
      const ann = await Client.signIn(served.linkFor('ann'))
      const [times, references]: [number[], number[]] = [[], []]
      for (let n = 0; n < 20; n++) {
        let before = ''
        let sum = 0
        do {
          const { ms, body } = await ask(ann, `"nowhere ${n}"`, before)
          sum += ms
          before = body.next === null ? '' : `&before=${body.next}`
        } while (before !== '')
        times.push(sum)
        references.push(await reference())
      }
      report(t, 'a text that is nowhere, in all of them', times, references, textMaxMs)
    })
  },
)
