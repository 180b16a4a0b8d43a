import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { KnownLeaders } from '../../src/drivers/kafka/client/known-leaders.ts'
import { confirmBounds } from '../../src/drivers/kafka/confirm-bounds.ts'

/**
 * What a leader says each time it is asked: how far it hands over, how far its log goes, and under which
 * epoch it leads.
 */
interface Said {
  readonly end: number
  readonly logEnd?: number
  readonly leaderEpoch?: number
}

function scripted(...said: readonly Said[]) {
  let asked = 0
  let nowMs = 0
  const now = () => said[Math.min(asked, said.length) - 1]!
  return {
    asked: () => asked,
    tookMs: () => nowMs,
    client: {
      bounds: async () => {
        asked++
        return new Map([[0, { start: 0, end: now().end }]])
      },
      logEnds: async () => {
        const { end, logEnd = end, leaderEpoch = 3 } = now()
        return new Map([[0, { end: logEnd, leaderEpoch }]])
      },
    },
    clock: {
      nowMs: () => nowMs,
      pause: async (ms: number) => {
        nowMs += ms
      },
    },
  }
}

const stands = (leaderEpoch = 3) => new Map([[0, { offset: 100, leaderEpoch }]])

describe('the bounds of a partition', () => {
  test('are accepted at once where the log reaches the read position', async () => {
    const { client, clock, asked } = scripted({ end: 100 })
    assert.equal((await confirmBounds(client, stands(), clock)).get(0)!.end, 100)
    assert.equal(asked(), 1)
  })

  test('of a leader that may not serve everything yet are those of its whole log', async () => {
    const { client, clock, tookMs } = scripted({ end: 0, logEnd: 120 })
    assert.equal((await confirmBounds(client, stands(), clock)).get(0)!.end, 120)
    assert.equal(tookMs(), 0)
  })

  test('of a log that grows are requested again', async () => {
    const { client, clock } = scripted({ end: 0 }, { end: 40 }, { end: 70 }, { end: 100 })
    assert.equal((await confirmBounds(client, stands(), clock)).get(0)!.end, 100)
  })

  test('that stay short for three seconds are true', async () => {
    const { client, clock, tookMs } = scripted({ end: 0 }, { end: 40 })
    assert.equal((await confirmBounds(client, stands(), clock)).get(0)!.end, 40)
    assert.ok(tookMs() <= 4_000)
  })

  test('are timed again when another leader reports the same', async () => {
    const before = Array.from({ length: 14 }, () => ({ end: 40, leaderEpoch: 3 }))
    const { client, clock, tookMs } = scripted(...before, { end: 40, leaderEpoch: 4 })
    await confirmBounds(client, stands(), clock)
    assert.ok(tookMs() >= 5_000, `${tookMs()} ms`)
  })

  test('of a leader that was replaced are doubted for longer', async () => {
    const before = Array.from({ length: 40 }, () => ({ end: 40, leaderEpoch: 3 }))
    const { client, clock } = scripted(...before, { end: 100, leaderEpoch: 5 })
    assert.equal((await confirmBounds(client, stands(5), clock)).get(0)!.end, 100)
  })

  test('of a cluster that was restored are accepted after ten seconds', async () => {
    const { client, clock, tookMs } = scripted({ end: 40, leaderEpoch: 3 })
    assert.equal((await confirmBounds(client, stands(5), clock)).get(0)!.end, 40)
    assert.ok(tookMs() >= 10_000 && tookMs() < 12_000, `${tookMs()} ms`)
  })
})

describe('leaders that brokers name', () => {
  const led = (leader: number, leaderEpoch: number) => [{ partition: 0, leader, leaderEpoch }]

  test('are the newest of those any broker has named', () => {
    const leaders = new KnownLeaders(() => 0)
    assert.deepEqual(leaders.newest('id', led(1, 5)), led(1, 5))
    assert.deepEqual(leaders.newest('id', led(2, 6)), led(2, 6))
    assert.deepEqual(leaders.newest('id', led(1, 5)), led(2, 6), 'a broker that has not heard of it yet')
    assert.deepEqual(leaders.newest('id', led(-1, 6)), led(-1, 6), 'it is known to be away')
    assert.deepEqual(leaders.newest('another topic of the name', led(1, 0)), led(1, 0))
  })

  test('are accepted again when no broker names a newer one for half a minute', () => {
    let nowMs = 0
    const leaders = new KnownLeaders(() => nowMs)
    leaders.newest('id', led(2, 6))
    leaders.newest('id', led(1, 5))
    nowMs = 31_000
    assert.deepEqual(leaders.newest('id', led(1, 5)), led(1, 5))
  })
})
