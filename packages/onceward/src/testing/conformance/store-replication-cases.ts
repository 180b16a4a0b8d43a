import assert from 'node:assert/strict'
import type { Store } from '../../ports/store.ts'
import { until } from '../until.ts'
import type { ConformanceCase } from './conformance-case.ts'
import { claimOf, type StoreBench } from './store-bench.ts'
import type { SynchronousStandby } from './store-replication.ts'

export interface ReplicationBench {
  readonly bench: StoreBench<unknown>
  readonly standby: SynchronousStandby
}

const endings = ['cancel', 'terminate'] as const
const deadlineMs = 60_000

/** A commit counts only when a failover keeps it. */
export const storeReplicationCases: readonly ConformanceCase<ReplicationBench, never>[] = [
  {
    name: 'a transaction that the standby has confirmed resolves',
    async run({ bench }) {
      await claim(bench, 'a')
      assert.equal(await bench.marker('a'), 'applied')
    },
  },
  ...endings.map(ending => ({
    name: `a commit that stopped waiting for the standby (${ending}) is not confirmed, and found by the next try`,
    async run({ bench, standby }: ReplicationBench) {
      const { store } = bench.under
      await standby.stop()
      const refused = unavailable(store, claim(bench, 'a'))
      await endWait(standby, ending)
      await refused
      assert.equal(await bench.marker('a'), 'applied', 'committed on the primary')
      await standby.resume()
      await store.ping()
      assert.equal(await claim(bench, 'a'), 'seen')
      assert.equal(await bench.count(`${bench.name}-a`), 1)
    },
  })),
  {
    name: 'a ping that stopped waiting for the standby proves nothing',
    async run({ bench, standby }) {
      const { store } = bench.under
      await standby.stop()
      for (const ending of endings) {
        const refused = unavailable(store, store.ping())
        await endWait(standby, ending)
        await refused
      }
      await standby.resume()
      await store.ping()
    },
  },
  {
    name: 'transactions side by side are not confirmed either when their waits end',
    async run({ bench, standby }) {
      const ids = ['a', 'b', 'c', 'd']
      await standby.stop()
      let refusals = 0
      const refused = ids.map(id =>
        unavailable(bench.under.store, claim(bench, id)).finally(() => refusals++),
      )
      // A cancelled wait may be visible for a moment more. Counting it would leave another one waiting
      // without end.
      const endAll = async () => {
        await standby.endWaits('cancel')
        return refusals === ids.length
      }
      await until('every COMMIT stopped waiting', endAll, { deadlineMs })
      await Promise.all(refused)
      await standby.resume()
      for (const id of ids) assert.equal(await claim(bench, id), 'seen')
    },
  },
]

/** As the engine does: the effect for a new message, a skip for a known one. */
async function claim(bench: StoreBench<unknown>, id: string): Promise<string> {
  return bench.transaction(async session => {
    const [answer] = await session.insertMarkers([claimOf(id)])
    if (answer?.kind === 'first') await bench.apply(session, `${bench.name}-${id}`)
    return answer!.kind
  })
}

async function unavailable(store: Store<unknown>, work: Promise<unknown>): Promise<void> {
  await assert.rejects(work, error => {
    assert.equal(store.diagnose(error), 'unavailable', String(error))
    return true
  })
}

async function endWait(standby: SynchronousStandby, how: (typeof endings)[number]): Promise<void> {
  await until('a COMMIT waits for the standby', async () => (await standby.endWaits(how)) > 0, { deadlineMs })
}
