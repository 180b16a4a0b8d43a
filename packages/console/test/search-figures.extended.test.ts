import assert from 'node:assert/strict'
import { after, before, describe, it, type TestContext } from 'node:test'
import { skipWithout } from '../../onceward/test/services/services.ts'
import { type ServedConsole, serveConsole } from '../src/server/serve-console.ts'
import { Client } from './bench/client.ts'
import { consumer, held, type ManyHeld, openManyHeld } from './bench/many-held.ts'

const count = 60

/** Measured, not asserted: a loaded machine answers later. Aims: a page within 100 ms, a text within 2 s. */
describe(
  `the times of searches among ${held.toLocaleString('en')} held messages`,
  await skipWithout('postgres'),
  () => {
    let many: ManyHeld
    let served: ServedConsole

    before(async () => {
      many = await openManyHeld()
      served = await serveConsole({ database: many.url, port: 0, auth: { kind: 'link' } })
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
    const report = (t: TestContext, what: string, times: number[]) => {
      times.sort((a, b) => a - b)
      const at = (share: number) => times[Math.ceil(times.length * share) - 1]!.toFixed(0)
      t.diagnostic(`${what}: median ${at(0.5)} ms, p95 ${at(0.95)} ms, slowest ${at(1)} ms`)
    }

    for (const q of [
      '',
      `consumer:${consumer} state:dead`,
      'code:code_3',
      'code:rare',
      'key:k-77',
      'message:m-5',
    ])
      it(`${q || 'everything'}, page after page`, async t => {
        const ann = await Client.signIn(served.linkFor('ann'))
        const times: number[] = []
        let before = ''
        for (let n = 0; n < count; n++) {
          const { ms, body } = await ask(ann, q, before)
          times.push(ms)
          before = body.next === null ? '' : `&before=${body.next}`
        }
        report(t, q || 'everything', times)
      })

    it('a text that is nowhere, to the end', async t => {
      const ann = await Client.signIn(served.linkFor('ann'))
      const times: number[] = []
      for (let n = 0; n < 20; n++) {
        let before = ''
        let sum = 0
        do {
          const { ms, body } = await ask(ann, `"nowhere ${n}"`, before)
          sum += ms
          before = body.next === null ? '' : `&before=${body.next}`
        } while (before !== '')
        times.push(sum)
      }
      report(t, 'a text that is nowhere', times)
    })
  },
)
