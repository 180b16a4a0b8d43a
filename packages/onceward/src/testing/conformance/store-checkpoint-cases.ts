import assert from 'node:assert/strict'
import type { Progress } from '../../ports/source.ts'
import { until } from '../until.ts'
import type { ConformanceCase } from './conformance-case.ts'
import type { StoreFeature } from './store.ts'
import { claimOf, factsOf, gate, type StoreBench } from './store-bench.ts'

type Cases = readonly ConformanceCase<StoreBench<unknown>, StoreFeature>[]

const at = (next: string, incarnation = 'one') => ({ incarnation, next })
const move = (partition: string, epoch: number, from: string | null, next: string | null): Progress => ({
  partition,
  epoch,
  incarnation: 'one',
  from,
  next,
})

/** Logs: ownership of partitions, their positions, and the fence in every transaction. */
export const storeCheckpointCases: Cases = [
  {
    name: 'taking a partition raises its epoch by one and returns its position and its last owner',
    needs: ['checkpoints'],
    async run(bench) {
      const lastRun = bench.enrolment.runId
      const first = await take(bench, 'p1', 'p2')
      assert.deepEqual(first, [
        { partition: 'p1', epoch: 1, lastRun: null, stored: null, resumeAt: null },
        { partition: 'p2', epoch: 1, lastRun: null, stored: null, resumeAt: null },
      ])
      await bench.under.store.checkpoints!.begin(bench.enrolment, 'p1', 1, at('7'))
      assert.deepEqual(await take(bench, 'p1', 'p2'), [
        { partition: 'p1', epoch: 2, lastRun, stored: at('7'), resumeAt: null },
        { partition: 'p2', epoch: 2, lastRun, stored: null, resumeAt: null },
      ])
    },
  },
  {
    name: 'partitions belong to one consumer and one generation',
    needs: ['checkpoints'],
    async run(bench) {
      const { store } = bench.under
      await take(bench, 'p')
      await store.checkpoints!.begin(bench.enrolment, 'p', 1, at('7'))
      for (const [name, generation] of [
        [`${bench.name}_x`, 1],
        [bench.name, 2],
      ] as const) {
        const other = await store.enroll(factsOf(name, { generation }))
        const [taken] = await store.checkpoints!.take(other, ['p'])
        assert.deepEqual(taken, { partition: 'p', epoch: 1, lastRun: null, stored: null, resumeAt: null })
      }
      await bench.transaction(session => session.log!.advance([move('p', 1, '7', '8')]))
    },
  },
  {
    name: 'a position that was kept beside markers cannot be used for dedup by position',
    needs: ['checkpoints'],
    async run(bench) {
      const { store } = bench.under
      await store.enroll(factsOf(bench.name, { dedup: 'checkpoint' }))
      await store.enroll(factsOf(bench.name))
      await take(bench, 'p')
      await store.checkpoints!.begin(bench.enrolment, 'p', 1, at('7'))
      for (let tries = 0; tries < 2; tries++)
        await assert.rejects(store.enroll(factsOf(bench.name, { dedup: 'checkpoint' })), {
          code: 'configuration',
          message: /new generation/,
        })
      await store.enroll(factsOf(bench.name, { generation: 2, dedup: 'checkpoint' }))
      await store.enroll(factsOf(bench.name))
    },
  },
  {
    name: 'the first position of a partition needs its current epoch',
    needs: ['checkpoints'],
    async run(bench) {
      await take(bench, 'p')
      await take(bench, 'p')
      await assert.rejects(
        bench.under.store.checkpoints!.begin(bench.enrolment, 'p', 1, at('7')),
        fenced('ownership_lost', 'p'),
      )
      assert.equal(await bench.under.position!(bench.name, 'p'), null)
      await bench.under.store.checkpoints!.begin(bench.enrolment, 'p', 2, at('9'))
      assert.deepEqual(await bench.under.position!(bench.name, 'p'), at('9'))
    },
  },
  {
    name: 'a position moves with the effect or not at all',
    needs: ['checkpoints'],
    async run(bench) {
      await begin(bench, 'p', '0')
      await bench.transaction(async session => {
        await bench.apply(session, `${bench.name} kept`)
        await session.log!.advance([move('p', 1, '0', '5')])
      })
      const undone = bench.transaction(async session => {
        await bench.apply(session, `${bench.name} undone`)
        await session.log!.advance([move('p', 1, '5', '9')])
        throw new Error('undo')
      })
      await assert.rejects(undone, /undo/)
      assert.deepEqual(await bench.under.position!(bench.name, 'p'), at('5'))
      assert.deepEqual(
        [await bench.count(`${bench.name} kept`), await bench.count(`${bench.name} undone`)],
        [1, 0],
      )
    },
  },
  {
    name: 'an owner whose epoch is stale commits nothing, neither effect nor marker nor position',
    needs: ['checkpoints'],
    async run(bench) {
      await begin(bench, 'p', '0')
      await begin(bench, 'other', '0')
      await take(bench, 'p')
      const alone = [move('p', 1, '0', '5'), move('p', 1, null, '5'), move('p', 1, null, null)]
      const beside = alone.map(one => [one, move('other', 1, '0', '1')])
      for (const stale of [...alone.map(one => [one]), ...beside]) {
        const zombie = bench.transaction(async session => {
          await session.insertMarkers([claimOf('m1')])
          await bench.apply(session, `${bench.name} zombie`)
          await session.log!.advance(stale)
        })
        await assert.rejects(zombie, fenced('ownership_lost', 'p'))
      }
      assert.equal(await bench.count(`${bench.name} zombie`), 0)
      assert.equal(await bench.marker('m1'), null)
      assert.deepEqual(await bench.under.position!(bench.name, 'p'), at('0'))
      assert.deepEqual(await bench.under.position!(bench.name, 'other'), at('0'))
    },
  },
  {
    name: 'a partition that was never taken has no owner',
    needs: ['checkpoints'],
    async run(bench) {
      const never = bench.transaction(session => session.log!.advance([move('p', 1, null, null)]))
      await assert.rejects(never, fenced('ownership_lost', 'p'))
    },
  },
  {
    name: 'a transaction from another position than the stored one is refused, with the name of the partition',
    needs: ['checkpoints'],
    async run(bench) {
      await begin(bench, 'p', '0')
      await begin(bench, 'q', '0')
      await bench.transaction(session => session.log!.advance([move('p', 1, '0', '3')]))
      const again = bench.transaction(async session => {
        await bench.apply(session, `${bench.name} again`)
        await session.log!.advance([move('q', 1, '0', '1'), move('p', 1, '0', '3')])
      })
      await assert.rejects(again, fenced('position_moved', 'p'))
      assert.equal(await bench.count(`${bench.name} again`), 0)
      assert.deepEqual(await bench.under.position!(bench.name, 'q'), at('0'))
    },
  },
  {
    name: 'a transaction reads the positions of its partitions, without those that never began',
    needs: ['checkpoints'],
    async run(bench) {
      await begin(bench, 'p', '3')
      await take(bench, 'q')
      const positions = await bench.transaction(session => session.log!.positions(['p', 'q', 'unknown']))
      assert.deepEqual([...positions], [['p', at('3')]])
    },
  },
  {
    name: 'a transaction may move some partitions and only hold others',
    needs: ['checkpoints'],
    async run(bench) {
      for (const partition of ['a', 'b', 'c']) await begin(bench, partition, '0')
      await bench.transaction(session =>
        session.log!.advance([move('c', 1, '0', '1'), move('a', 1, null, null), move('b', 1, null, '2')]),
      )
      const now = await Promise.all(['a', 'b', 'c'].map(one => bench.under.position!(bench.name, one)))
      assert.deepEqual(now, [at('0'), at('2'), at('1')])
    },
  },
  {
    name: 'a loss is recorded once, however often it is declared',
    needs: ['checkpoints'],
    async run(bench) {
      const loss = { partition: 'p', from: at('3'), to: at('9'), records: 6, reason: 'expired' }
      await bench.under.store.checkpoints!.declareLoss(bench.enrolment, loss)
      await bench.under.store.checkpoints!.declareLoss(bench.enrolment, { ...loss, to: at('12'), records: 9 })
      const losses = await bench.under.losses!(bench.name)
      assert.deepEqual(
        losses.map(({ partition, from, to, records }) => ({ partition, from, to, records })),
        [{ partition: 'p', from: at('3'), to: at('12'), records: 9 }],
      )
      await bench.under.store.checkpoints!.declareLoss(bench.enrolment, {
        ...loss,
        from: at('0', 'two'),
        to: null,
        records: null,
      })
      assert.equal((await bench.under.losses!(bench.name)).length, 2)
    },
  },
  {
    name: 'an accepted loss gives the next owner its position, until it has begun',
    needs: ['checkpoints', 'accepted losses'],
    async run(bench) {
      await begin(bench, 'p', '3')
      const loss = { partition: 'p', from: at('3'), to: at('9'), records: 6, reason: 'expired' }
      await bench.under.store.checkpoints!.declareLoss(bench.enrolment, loss)
      assert.equal((await take(bench, 'p'))[0]!.resumeAt, null)
      await bench.under.acceptLoss!(bench.name, 'p')
      const [taken] = await take(bench, 'p')
      assert.deepEqual(taken!.resumeAt, at('9'))
      await bench.under.store.checkpoints!.begin(bench.enrolment, 'p', taken!.epoch, at('9'))
      const [later] = await take(bench, 'p')
      assert.deepEqual([later!.stored, later!.resumeAt], [at('9'), null])
    },
  },
  {
    name: 'a withdrawn loss is no longer open, and only its owner can withdraw it',
    needs: ['checkpoints'],
    async run(bench) {
      await begin(bench, 'p', '3')
      const loss = { partition: 'p', from: at('3'), to: at('0'), records: null, reason: 'the log ends at 0' }
      await bench.under.store.checkpoints!.declareLoss(bench.enrolment, loss)
      const [taken] = await take(bench, 'p')
      const { epoch, openLoss } = taken!
      const { from: lostAt, accepted, reason } = openLoss!
      assert.deepEqual([lostAt, accepted, reason], [at('3'), false, loss.reason])
      const withdraw = (by: number, from = at('3')) =>
        bench.under.store.checkpoints!.withdrawLoss(bench.enrolment, 'p', by, from, 'it was there')
      await assert.rejects(withdraw(epoch - 1), { code: 'ownership_lost' })
      await withdraw(epoch, at('4'))
      assert.ok((await take(bench, 'p'))[0]!.openLoss, 'a loss at another place stays')
      await withdraw(epoch + 1)
      const [later] = await take(bench, 'p')
      assert.deepEqual([later!.stored, later!.resumeAt, later!.openLoss], [at('3'), null, undefined])
      await bench.under.store.checkpoints!.declareLoss(bench.enrolment, loss)
      assert.ok((await take(bench, 'p'))[0]!.openLoss, 'it may be declared anew')
    },
  },
  {
    name: 'a take waits for a transaction that has passed its fence, and then returns its position',
    needs: ['checkpoints', 'lock waits', 'concurrent transactions'],
    async run(bench) {
      // Two partitions: the fence of one may be sent with COMMIT, and then nothing can be observed in
      // between.
      for (const partition of ['p', 'q']) await begin(bench, partition, '0')
      const [passed, commit] = [gate(), gate()]
      const owner = bench.transaction(async session => {
        await bench.apply(session, `${bench.name} in time`)
        await session.log!.advance([move('p', 1, '0', '5'), move('q', 1, '0', '1')])
        passed.open()
        await commit.opened
      })
      await passed.opened
      const taking = bench.under.second.checkpoints!.take(bench.enrolment, ['p'])
      await until('the taker waits', async () => (await bench.under.waiting!()) > 0)
      commit.open()
      await owner
      const lastRun = bench.enrolment.runId
      assert.deepEqual(await taking, [{ partition: 'p', epoch: 2, lastRun, stored: at('5'), resumeAt: null }])
      assert.equal(await bench.count(`${bench.name} in time`), 1)
    },
  },
  {
    name: 'a take waits for a transaction that only held its partition, too',
    needs: ['checkpoints', 'lock waits', 'concurrent transactions'],
    async run(bench) {
      for (const partition of ['p', 'q']) await begin(bench, partition, '0')
      const [passed, commit] = [gate(), gate()]
      const owner = bench.transaction(async session => {
        await bench.apply(session, `${bench.name} held`)
        await session.log!.advance([move('p', 1, null, null), move('q', 1, '0', '1')])
        passed.open()
        await commit.opened
      })
      await passed.opened
      let taken = false
      const taking = bench.under.second.checkpoints!.take(bench.enrolment, ['p']).then(() => {
        taken = true
      })
      await until('the taker waits', async () => (await bench.under.waiting!()) > 0)
      assert.equal(taken, false)
      commit.open()
      await Promise.all([owner, taking])
    },
  },
  {
    name: 'once a take has resolved, an open transaction of the old epoch commits nothing',
    needs: ['checkpoints', 'concurrent transactions'],
    async run(bench) {
      await begin(bench, 'p', '0')
      const [working, goOn] = [gate(), gate()]
      const zombie = bench.transaction(async session => {
        await session.insertMarkers([claimOf('m1')])
        await bench.apply(session, `${bench.name} late`)
        working.open()
        await goOn.opened
        await session.log!.advance([move('p', 1, '0', '5')])
      })
      await working.opened
      const [taken] = await bench.under.second.checkpoints!.take(bench.enrolment, ['p'])
      assert.equal(taken!.epoch, 2)
      goOn.open()
      await assert.rejects(zombie, fenced('ownership_lost', 'p'))
      assert.equal(await bench.count(`${bench.name} late`), 0)
      assert.equal(await bench.marker('m1'), null)
    },
  },
  {
    name: 'batches of one owner that only hold a partition do not wait for each other',
    needs: ['checkpoints', 'concurrent transactions'],
    async run(bench) {
      await begin(bench, 'p', '0')
      const both = [gate(), gate()]
      const hold = (mine: number) =>
        bench.transaction(async session => {
          await session.log!.advance([move('p', 1, null, null)])
          both[mine]!.open()
          await both[1 - mine]!.opened
        })
      await Promise.all([hold(0), hold(1)])
    },
  },
  {
    name: 'takers and owners of overlapping partitions, in any order, never deadlock',
    needs: ['checkpoints', 'concurrent transactions'],
    async run(bench) {
      // Names that collations sort differently from bytes.
      const names = Array.from({ length: 12 }, (_, index) => (index % 2 === 0 ? `a_${index}` : `Z-${index}`))
      const { store, second } = bench.under
      let refused = 0
      const own = async (round: number) => {
        const mine = rotated(names, round * 5).slice(0, 8)
        const taken = await (round % 2 === 0 ? store : second).checkpoints!.take(bench.enrolment, mine)
        // Some partitions move, others are only held: both kinds of lock are taken in one order.
        const moves = taken.map(({ partition, epoch }, index) =>
          move(partition, epoch, null, (index + round) % 2 === 0 ? null : String(round)),
        )
        await bench
          .transaction(
            session => session.log!.advance(rotated(moves, round * 3)),
            round % 2 === 0 ? store : second,
          )
          .catch(error => {
            assert.equal(error.code, 'ownership_lost', String(error))
            refused++
          })
      }
      await Promise.all(Array.from({ length: 40 }, (_, round) => own(round)))
      assert.ok(refused < 40, 'a stale owner committed')
    },
  },
]

const take = (bench: StoreBench<unknown>, ...partitions: readonly string[]) =>
  bench.under.store
    .checkpoints!.take(bench.enrolment, partitions)
    .then(taken => [...taken].sort((a, b) => (a.partition < b.partition ? -1 : 1)))

async function begin(bench: StoreBench<unknown>, partition: string, next: string): Promise<void> {
  const [taken] = await take(bench, partition)
  await bench.under.store.checkpoints!.begin(bench.enrolment, partition, taken!.epoch, at(next))
}

const fenced = (code: string, ...partitions: readonly string[]) => ({ code, details: { partitions } })

const rotated = <T>(list: readonly T[], by: number): T[] => {
  const first = by % list.length
  return [...list.slice(first), ...list.slice(0, first)]
}
