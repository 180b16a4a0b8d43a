import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createTestEnvironment } from 'onceward/testing'
import type { Decided } from '../../src/engine/batch/batch-attempt.ts'
import { storedDecision } from '../../src/engine/batch/decide-outcome.ts'
import type { Enrolment } from '../../src/ports/enrolment.ts'
import type { LeasedWork, LostLease, WorkLease, WorkRow } from '../../src/ports/held-work.ts'
import type { Store } from '../../src/ports/store.ts'
import { HeldSource, type HeldSourceOptions } from '../../src/work/held-source.ts'

const none: LeasedWork = { rows: [], expired: 0, next: null }
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

const handed = (id: string): Decided => ({
  received: {
    id,
    digest: Buffer.alloc(32),
    lane: null,
    delivery: { body: Buffer.from('{}'), headers: {}, properties: {}, deliveryCount: 0 },
  } as never,
  decision: storedDecision,
  lease: { row: id, epoch: 1 },
})

/** A source on a store that answers each claim as it is told. */
async function openSource(
  claim: (asked: number, after: string | null) => Promise<LeasedWork>,
  rest: HeldSourceOptions['rest'] = null,
) {
  const env = createTestEnvironment()
  let asked = 0
  const givenBack: string[] = []
  const extended = Promise.withResolvers<readonly LostLease[]>()
  const store = {
    diagnose: () => 'unavailable',
    work: {
      lease: (_: Enrolment, { after }: { after: string | null }) => claim(++asked, after),
      extend: () => extended.promise,
      giveBack: async (claims: readonly WorkLease[]) =>
        void givenBack.push(...claims.map(claim => claim.row)),
    },
  } as unknown as Store<never>
  const source = new HeldSource({
    store,
    env,
    consumerName: 'c',
    leaseMs: 30_000,
    workers: 2,
    ordered: true,
    rest,
  })
  await source.open({ enrolment: { consumerId: 1, runId: 1 }, inFlightBytesMax: 1_000 } as never)
  return { source, env, extended, givenBack, asked: () => asked }
}

describe('the source of held work', () => {
  it('pauses when it has searched past all blocked rows and found nothing', async () => {
    const { source, env, asked } = await openSource(async (n, after) => {
      if (n > 50) return new Promise<never>(() => {})
      const at = after === null ? 0 : Number(after)
      return at < 2 ? { ...none, next: String(at + 1) } : none
    })
    void source.receive(10)
    await env.turn()
    assert.equal(asked(), 3, 'one walk, then a pause')
    await env.advance(25)
    assert.equal(asked(), 6, 'and another')
    await source.close()
  })

  it('reports once that the store is unavailable, and once that it is available again', async () => {
    const { source, env, asked } = await openSource(async n => {
      if (n < 5) throw new Error('ECONNREFUSED')
      return none
    })
    void source.receive(10)
    for (let n = 0; n < 60 && asked() < 6; n++) await env.advance(500)
    assert.ok(asked() >= 6)
    assert.deepEqual(
      env.lines.map(({ level, message }) => `${level} ${message}`),
      ['warn store unavailable, no work leased', 'info store available again, leasing work'],
    )
    await source.close()
  })

  it('does not report a lease request that fails because the source was closed', async () => {
    const claim = Promise.withResolvers<LeasedWork>()
    const { source, env } = await openSource(() => claim.promise)
    const received = source.receive(10)
    await env.turn()
    await source.close()
    claim.reject(new Error('Cannot use a pool after calling end on the pool'))
    assert.deepEqual(await received, [])
    assert.deepEqual(env.lines, [])
  })

  it('collects messages that arrive singly, while other batches run', async () => {
    const lock = { entered: 0, busy: true }
    const claim = async (n: number) => ({ ...none, rows: [row(String(n), 1)] })
    const { source, env, asked } = await openSource(claim, { ms: 250, lock })
    await source.receive(10)
    const second = source.receive(10)
    source.kick()
    await env.advance(240)
    assert.equal(asked(), 1, 'the next claim waits')
    await env.advance(20)
    await second
    void source.receive(10)
    Object.assign(lock, { busy: false, entered: 7 })
    await env.advance(20)
    assert.equal(asked(), 2, 'there was one in between')
    await env.advance(20)
    assert.equal(asked(), 3, 'no batch lock any more')
    await source.close()
  })

  it('reaches rows behind many blocked rows, in any number of queries', async () => {
    const { source, env, asked } = await openSource(async (_, after) => {
      await env.advance(300)
      const at = after === null ? 0 : Number(after)
      return at < 8 ? { ...none, next: String(at + 1) } : { ...none, rows: [row('1', 1)] }
    })
    const taken = await source.receive(10)
    assert.deepEqual([taken.length, asked()], [1, 9])
    await source.close()
  })

  it('pauses when the store is unavailable, at any point of the search', async () => {
    const { source, env, asked } = await openSource(async n => {
      if (n > 50) return new Promise<never>(() => {})
      if (n === 1) return { ...none, next: '1' }
      throw new Error('away')
    })
    void source.receive(10)
    await env.turn()
    assert.equal(asked(), 2)
    await source.close()
  })

  it('the loss of a lease is not reported for the next lease of the same row', async () => {
    const { source, env, extended } = await openSource(async n => ({ ...none, rows: [row('1', n)] }))
    const [first] = await source.receive(1)
    await env.advance(10_001)
    const [second] = await source.receive(1)
    let told = 0
    source.leases.watch([second!], () => void told++)
    extended.resolve([{ row: '1', epoch: 1, taken: true }])
    await env.turn()
    source.leases.drop([first!])
    await source.settle([first!])
    assert.deepEqual([source.isLive(first!), source.isLive(second!), told], [false, true, 0])
    await source.close()
  })

  it('alternates between local handoff and the store', async () => {
    const { source, asked } = await openSource(async n => ({
      ...none,
      rows: [row(`old-${n}`, 1)],
      next: 'x',
    }))
    const names = async () => (await source.receive(1)).map(({ held }) => held!.row)
    assert.deepEqual(await names(), ['old-1'])
    assert.notEqual(source.holderOf(2, 10), null)
    source.take([handed('new-1'), handed('new-2')])
    assert.deepEqual(await names(), ['new-1'])
    assert.deepEqual(await names(), ['old-2'])
    assert.deepEqual(await names(), ['new-2'])
    assert.equal(asked(), 2)
    await source.close()
  })

  it('accepts no handoff beyond its room in rows and bytes, before it runs, or once it is closed', async () => {
    const { source } = await openSource(async () => none)
    assert.equal(source.holderOf(1, 10), null, 'nobody has asked for work yet')
    void source.receive(10)
    assert.deepEqual(source.holderOf(30, 10), { runId: 1, leaseMs: 30_000, ordered: true })
    assert.equal(source.holderOf(31, 10), null)
    assert.equal(source.holderOf(1, 1_001), null)
    source.take([handed('a')])
    assert.equal(source.holderOf(30, 10), null)
    assert.notEqual(source.holderOf(29, 10), null)
    await source.close()
    assert.equal(source.holderOf(1, 10), null)
  })

  it('releases messages handed to it after its close', async () => {
    const { source, givenBack } = await openSource(async () => none)
    await source.close()
    source.take([handed('a')])
    assert.deepEqual(givenBack, ['a'])
  })

  it('queries the store once a second, for any amount of local handoff', async () => {
    const { source, env, asked } = await openSource(async () => none)
    const first = source.receive(1)
    source.take([handed('a'), handed('b'), handed('c')])
    await first
    const looked = asked()
    await source.receive(1)
    assert.equal(asked(), looked)
    await env.advance(1_001)
    await source.receive(1)
    assert.equal(asked(), looked + 1)
    await source.close()
  })
})
