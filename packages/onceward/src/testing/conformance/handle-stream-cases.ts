import assert from 'node:assert/strict'
import type { ConformanceCase } from './conformance-case.ts'
import type { Attempt, HandleBench } from './handle-bench.ts'

type Cases = readonly ConformanceCase<HandleBench, 'row streams'>[]

const abandoned = (
  name: string,
  fails: (bench: HandleBench, rows: AsyncIterator<unknown>, attempt: Attempt) => Promise<unknown>,
): Cases[number] => ({
  name,
  needs: ['row streams'],
  async run(bench) {
    const fail = async (attempt: Attempt) => {
      const rows = bench.under.rows!(attempt.tx)
      assert.equal((await rows.next()).done, false)
      await fails(bench, rows, attempt)
    }
    await bench.start(fail, { batch: { handlerTimeoutMs: 1_500 } }, 1)
    await bench.expectOnce()
  },
})

/** Rows that are not read to their end keep a portal open on the connection. */
export const handleStreamCases: Cases = [
  abandoned('rows abandoned by a handler that throws', () => Promise.reject(new Error('no'))),
  abandoned('rows abandoned by a handler that returns', () => Promise.resolve()),
  abandoned('rows abandoned by a handler that hangs', () => new Promise(() => {})),
  abandoned('rows abandoned with writes behind them', (bench, _rows, { tx }) =>
    Promise.race([
      Promise.all([bench.apply(tx, 'half 1'), bench.apply(tx, 'half 2')]),
      new Promise((_resolve, reject) => setTimeout(reject, 50, new Error('no'))),
    ]),
  ),
  {
    name: 'rows requested after the deadline are refused, and do not look like the end of the rows',
    needs: ['row streams'],
    async run(bench) {
      const asked = Promise.withResolvers<unknown>()
      const fail = async ({ tx, signal }: Attempt) => {
        const rows = bench.under.rows!(tx)
        await rows.next()
        await new Promise(resolve => signal.addEventListener('abort', resolve))
        while ((await rows.next()).done !== true) {}
        asked.resolve('read to the end')
      }
      await bench.start(
        attempt => fail(attempt).catch(asked.resolve),
        { batch: { handlerTimeoutMs: 700 } },
        1,
      )
      await bench.expectOnce()
      assert.ok((await asked.promise) instanceof Error)
    },
  },
  {
    name: 'rows that are read completely, or closed early, count as one statement',
    needs: ['row streams'],
    async run(bench) {
      await bench.start(async () => {}, {
        handle: async ({ message, tx }) => {
          const rows = bench.under.rows!(tx)
          if (message.id === 'a') while ((await rows.next()).done !== true) {}
          else {
            await rows.next()
            await rows.return!()
          }
          await bench.apply(tx, message.id)
        },
      })
      await bench.expectOnce()
    },
  },
]
