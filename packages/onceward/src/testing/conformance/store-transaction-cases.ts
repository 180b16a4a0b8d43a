import assert from 'node:assert/strict'
import { OncewardError } from '../../errors.ts'
import type { ConformanceCase } from './conformance-case.ts'
import type { StoreFeature } from './store.ts'
import { claimOf, type StoreBench } from './store-bench.ts'

type Cases = readonly ConformanceCase<StoreBench<unknown>, StoreFeature>[]

/** All or nothing. */
export const storeTransactionCases: Cases = [
  {
    name: 'marker and effect commit together',
    async run(bench) {
      const answer = await bench.transaction(async session => {
        await session.insertMarkers([claimOf('a')])
        await bench.apply(session, `${bench.name}-a`)
        return 'the result'
      })
      assert.equal(answer, 'the result')
      assert.equal(await bench.marker('a'), 'applied')
      assert.equal(await bench.count(`${bench.name}-a`), 1)
    },
  },
  {
    name: 'marker and effect vanish together, and the error comes through unchanged',
    async run(bench) {
      const failure = new Error('on purpose')
      const failing = bench.transaction(async session => {
        await session.insertMarkers([claimOf('a')])
        await bench.apply(session, `${bench.name}-a`)
        throw failure
      })
      await assert.rejects(failing, error => error === failure)
      assert.equal(await bench.marker('a'), null)
      assert.equal(await bench.count(`${bench.name}-a`), 0)
    },
  },
  {
    name: 'a handler transaction knows whether it was used and is refused once it is revoked',
    async run(bench) {
      await bench.transaction(async session => {
        const handlerTx = session.handlerTransaction()
        assert.equal(handlerTx.used, false)
        await bench.under.apply(handlerTx.tx, `${bench.name}-a`)
        assert.equal(handlerTx.used, true)
        assert.equal(handlerTx.pending, 0)
        assert.equal(handlerTx.failure, undefined)
        handlerTx.revoke()
        await assert.rejects(bench.under.apply(handlerTx.tx, `${bench.name}-b`), isClosed)
        await handlerTx.idle()
      })
      assert.equal(await bench.count(`${bench.name}-a`), 1)
      assert.equal(await bench.count(`${bench.name}-b`), 0)
    },
  },
  {
    name: 'a handler transaction that was not revoked is refused after the transaction, committed or not',
    async run(bench) {
      for (const failure of [null, new Error('on purpose')]) {
        let apply: () => Promise<void> = () => Promise.resolve()
        const work = bench.transaction(async session => {
          const { tx } = session.handlerTransaction()
          apply = () => bench.under.apply(tx, `${bench.name}-late`)
          if (failure !== null) throw failure
        })
        await work.catch(error => assert.equal(error, failure))
        await assert.rejects(apply, isClosed)
      }
      assert.equal(await bench.count(`${bench.name}-late`), 0)
    },
  },
  {
    name: 'a swallowed statement error is remembered by the handler transaction and never commits',
    needs: ['failing statements'],
    async run(bench) {
      const work = bench.transaction(async session => {
        await session.insertMarkers([claimOf('a')])
        const handlerTx = session.handlerTransaction()
        await bench.under.apply(handlerTx.tx, `${bench.name}-a`)
        await bench.under.fail!(handlerTx.tx).catch(() => {})
        assert.ok(handlerTx.failure instanceof Error)
        assert.equal(bench.under.store.diagnose(handlerTx.failure), 'statement')
      })
      await assert.rejects(
        work,
        error => error instanceof OncewardError && error.code === 'commit_not_confirmed',
      )
      assert.equal(await bench.marker('a'), null)
      assert.equal(await bench.count(`${bench.name}-a`), 0)
    },
  },
  {
    name: 'after a failed statement the next one is diagnosed as its victim',
    needs: ['failing statements'],
    async run(bench) {
      const work = bench.transaction(async session => {
        const [handlerTx, bystander] = [session.handlerTransaction(), session.handlerTransaction()]
        await assert.rejects(bench.under.fail!(handlerTx.tx))
        await assert.rejects(bench.under.apply(bystander.tx, `${bench.name}-a`))
        assert.equal(bench.under.store.diagnose(bystander.failure), 'victim')
        throw bystander.failure
      })
      await assert.rejects(work)
    },
  },
  {
    name: 'a store that is there answers a ping and diagnoses what it does not know as belonging to the statement',
    async run(bench) {
      const { store } = bench.under
      await store.ping()
      for (const odd of [new Error('odd'), null, undefined, 'text', 7, {}])
        assert.equal(store.diagnose(odd), 'statement')
    },
  },
  {
    name: 'many transactions at once all commit, each with its own markers',
    async run(bench) {
      const ids = Array.from({ length: 60 }, (_, index) => `m${index}`)
      const { store, second } = bench.under
      await Promise.all(
        ids.map((id, index) =>
          bench.transaction(
            async session => {
              await session.insertMarkers([claimOf(id)])
              await bench.apply(session, `${bench.name}-${id}`)
            },
            index % 2 === 0 ? store : second,
          ),
        ),
      )
      const applied = (await bench.under.applied()).filter(key => key.startsWith(`${bench.name}-`))
      assert.deepEqual([...applied].sort(), ids.map(id => `${bench.name}-${id}`).sort())
      for (const id of ids) assert.equal(await bench.marker(id), 'applied')
    },
  },
]

/** The error itself, or inside an error of the library that made the statement. */
function isClosed(error: unknown): boolean {
  const said = error instanceof OncewardError ? error : (error as Error).cause
  return said instanceof OncewardError && said.code === 'tx_closed'
}
