import assert from 'node:assert/strict'
import { test } from 'node:test'
import { InFlight } from '../../src/drivers/rabbitmq/in-flight.ts'

const MiB = 1024 * 1024

function feed(inFlight: InFlight, count: number, bytes: number): void {
  for (let i = 0; i < count; i++) {
    inFlight.arrived(bytes)
    inFlight.settled(bytes)
  }
}

test('the first prefetch is modest, and small bodies raise it to the count allowed', () => {
  const inFlight = new InFlight(2_000, 64 * MiB)
  assert.equal(inFlight.room, 256)
  assert.equal(inFlight.mayRaise(256, 10), false)
  feed(inFlight, 1_024, 200)
  assert.equal(inFlight.mayRaise(256, 1_024), true)
  assert.equal(inFlight.wanted, 2_000)
})

test('large bodies lower it until a prefetch of them fits the byte budget', () => {
  const inFlight = new InFlight(2_000, 64 * MiB)
  feed(inFlight, 5_000, 200)
  feed(inFlight, 500, 4 * MiB)
  assert.equal(inFlight.wanted, 16)
})

test('unsettled deliveries reduce the next prefetch', () => {
  const inFlight = new InFlight(100, 64 * MiB)
  feed(inFlight, 5_000, 10)
  for (let i = 0; i < 40; i++) inFlight.arrived(10)
  assert.equal(inFlight.room, 60)
})

test('over budget it pauses, and resumes when half is free', () => {
  const inFlight = new InFlight(100, MiB)
  for (let i = 0; i < 3; i++) inFlight.arrived(0.4 * MiB)
  assert.equal(inFlight.mustPause(1), true)
  inFlight.settled(0.4 * MiB)
  assert.equal(inFlight.mayResume, false)
  inFlight.settled(0.4 * MiB)
  assert.equal(inFlight.mayResume, true)
})

test('one message larger than the whole budget is still asked for', () => {
  const inFlight = new InFlight(100, MiB)
  feed(inFlight, 1_000, 50 * MiB)
  assert.equal(inFlight.room, 1)
})
