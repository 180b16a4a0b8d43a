import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { evenClock } from '../../src/runtime/even-clock.ts'

function machine() {
  const now = { monotonic: 1_000, wall: 1_800_000_000_000, boot: 90_000 }
  const clock = evenClock({
    monotonicMs: () => now.monotonic,
    wallMs: () => now.wall,
    bootMs: () => Math.floor(now.boot / 10) * 10,
  })
  return {
    clock,
    runs(ms: number) {
      now.monotonic += ms
      now.wall += ms
      now.boot += ms
    },
    sleeps(ms: number) {
      now.wall += ms
      now.boot += ms
    },
    isSet(ms: number) {
      now.wall += ms
    },
  }
}

describe('the clock for durations', () => {
  test('runs with the machine', () => {
    const { clock, runs } = machine()
    const began = clock.nowMs()
    for (let n = 0; n < 1_000; n++) {
      runs(7)
      clock.nowMs()
    }
    assert.equal(clock.nowMs() - began, 7_000)
  })

  test('counts the hours a machine was suspended, at the first reading after', () => {
    const { clock, runs, sleeps } = machine()
    const began = clock.nowMs()
    runs(100)
    sleeps(3 * 3_600_000)
    const passed = clock.nowMs() - began
    assert.ok(Math.abs(passed - (3 * 3_600_000 + 100)) <= 10, String(passed))
    runs(100)
    assert.equal(clock.nowMs() - began, passed + 100, 'once')
  })

  test('does not move when the date is set, forwards or back', () => {
    const { clock, runs, isSet } = machine()
    const began = clock.nowMs()
    for (const days of [3, -6, 400]) {
      isSet(days * 86_400_000)
      runs(10)
      clock.nowMs()
    }
    assert.equal(clock.nowMs() - began, 30)
  })

  test('detects a suspension although the date was set back by as much', () => {
    const { clock, runs, sleeps, isSet } = machine()
    const began = clock.nowMs()
    sleeps(60_000)
    isSet(-60_000)
    clock.nowMs()
    runs(1_100)
    assert.ok(clock.nowMs() - began >= 61_090)
  })

  test('of this machine never goes back', () => {
    const clock = evenClock()
    let last = clock.nowMs()
    for (let n = 0; n < 10_000; n++) {
      const now = clock.nowMs()
      assert.ok(now >= last)
      last = now
    }
  })
})
