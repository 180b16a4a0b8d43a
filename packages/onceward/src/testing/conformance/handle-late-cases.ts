import assert from 'node:assert/strict'
import { until } from '../until.ts'
import type { ConformanceCase } from './conformance-case.ts'
import type { Attempt, HandleBench } from './handle-bench.ts'

type Cases = readonly ConformanceCase<HandleBench, 'row streams'>[]

/** Short, and still longer than a busy machine needs for a statement, so that few attempts fail by it. */
const short = { batch: { handlerTimeoutMs: 700 } }

const pastDeadline = (
  name: string,
  fails: (bench: HandleBench, attempt: Attempt) => Promise<unknown>,
): Cases[number] => ({
  name,
  async run(bench) {
    await bench.start(attempt => fails(bench, attempt), short, 1)
    await bench.expectOnce()
  },
})

/**
 * A handler that continues after its deadline has no transaction any more: each of its statements is refused.
 */
export const handleLateCases: Cases = [
  pastDeadline('writes behind a statement that outlasts the deadline', (bench, { tx }) =>
    Promise.all([bench.under.pause(tx, 3_000), bench.apply(tx, 'half 1'), bench.apply(tx, 'half 2')]),
  ),
  pastDeadline('a statement that hangs until the server ends it', (bench, { tx }) =>
    Promise.all([bench.under.pause(tx, 60_000), bench.apply(tx, 'half')]),
  ),
  pastDeadline('a handler that hangs with its writes answered', async (bench, { tx }) => {
    await bench.apply(tx, 'half')
    await new Promise(() => {})
  }),
  {
    name: 'a handler that continues to write in a loop, after every error',
    async run(bench) {
      let stopped = false
      let refused = 0
      await bench.start(
        async ({ tx }) => {
          while (!stopped) await bench.apply(tx, 'loop').catch(() => refused++)
        },
        short,
        1,
      )
      await bench.expectOnce()
      stopped = true
      assert.ok(refused > 0)
    },
  },
  {
    name: 'a handler that continues with several writes at a time',
    async run(bench) {
      let stopped = false
      await bench.start(
        async ({ tx }) => {
          while (!stopped) await Promise.allSettled([1, 2, 3].map(n => bench.apply(tx, `loop ${n}`)))
        },
        short,
        1,
      )
      await bench.expectOnce()
      stopped = true
    },
  },
  {
    name: 'a handler that writes again while the next attempt has the connection',
    async run(bench) {
      const late = Promise.withResolvers<string>()
      await bench.start(
        async ({ tx, signal }) => {
          await bench.apply(tx, 'half')
          signal.addEventListener('abort', () => void bench.apply(tx, 'at its end').catch(() => {}))
          await until('the next attempt runs', () => bench.calls > 1)
          const sent = bench.apply(tx, 'in the time of another')
          late.resolve(
            sent.then(
              () => 'sent',
              () => 'refused',
            ),
          )
          await new Promise(() => {})
        },
        short,
        1,
      )
      await bench.expectOnce()
      assert.equal(await late.promise, 'refused')
    },
  },
]
