import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createTestSurroundings } from 'onceward/testing'
import type { ClaimedWork, LostClaim, WorkRow } from '../../src/contracts/held-work.ts'
import type { Enrolment, Store } from '../../src/contracts/store.ts'
import { HeldSource } from '../../src/inbox/held-source.ts'

const none: ClaimedWork = { rows: [], expired: 0, next: null }
const row = (id: string, epoch: number): WorkRow => ({
  row: id,
  epoch,
  messageId: id,
  digest: Buffer.alloc(32),
  waited: null,
  abandoned: false,
  body: Buffer.from('{}'),
  headers: null,
  properties: null,
  origin: 'test',
  position: null,
  brokerKey: null,
  deliveryCount: 0,
})

/** A source on a store that answers each claim as it is told. */
async function openSource(claim: (asked: number, after: string | null) => Promise<ClaimedWork>) {
  const world = createTestSurroundings()
  let asked = 0
  const extended = Promise.withResolvers<readonly LostClaim[]>()
  const store = {
    diagnose: () => 'unavailable',
    work: {
      claim: (_: Enrolment, { after }: { after: string | null }) => claim(++asked, after),
      extend: () => extended.promise,
      giveBack: async () => {},
      oldestSeconds: async () => null,
    },
  } as unknown as Store<never>
  const source = new HeldSource({ store, world, consumerName: 'c', leaseMs: 30_000, ordered: true })
  await source.open({ enrolment: { consumerId: 1, runId: 1 } } as never)
  return { source, world, extended, asked: () => asked }
}

describe('the source of held work', () => {
  it('rests when it has looked past everything that is held up and found nothing', async () => {
    const { source, world, asked } = await openSource(async (n, after) => {
      if (n > 50) return new Promise<never>(() => {})
      const at = after === null ? 0 : Number(after)
      return at < 2 ? { ...none, next: String(at + 1) } : none
    })
    void source.receive(10)
    await world.turn()
    assert.equal(asked(), 3, 'one walk, then a pause')
    await world.advance(25)
    assert.equal(asked(), 6, 'and another')
    await source.close()
  })

  it('reaches what lies behind a long line that is held up, however long the way takes', async () => {
    const { source, world, asked } = await openSource(async (_, after) => {
      await world.advance(300)
      const at = after === null ? 0 : Number(after)
      return at < 8 ? { ...none, next: String(at + 1) } : { ...none, rows: [row('1', 1)] }
    })
    const taken = await source.receive(10)
    assert.deepEqual([taken.length, asked()], [1, 9])
    await source.close()
  })

  it('rests when the store is away, wherever it was', async () => {
    const { source, world, asked } = await openSource(async n => {
      if (n > 50) return new Promise<never>(() => {})
      if (n === 1) return { ...none, next: '1' }
      throw new Error('away')
    })
    void source.receive(10)
    await world.turn()
    assert.equal(asked(), 2)
    await source.close()
  })

  it('what is said of a claim it lost is not said of the next one it has of the same row', async () => {
    const { source, world, extended } = await openSource(async n => ({ ...none, rows: [row('1', n)] }))
    const [first] = await source.receive(1)
    await world.advance(10_001)
    const [second] = await source.receive(1)
    let told = 0
    source.watchClaims([second!], () => void told++)
    extended.resolve([{ row: '1', epoch: 1, taken: true }])
    await world.turn()
    source.dropClaims([first!])
    await source.settle([first!])
    assert.deepEqual([source.isLive(first!), source.isLive(second!), told], [false, true, 0])
    await source.close()
  })
})
