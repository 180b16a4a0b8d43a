import { syncBuiltinESMExports } from 'node:module'
import { currentCall } from './handler-calls.ts'
import { replace } from './handler-globals.ts'
import { replaceRandom } from './handler-random.ts'
import type { HandlerEnvironment } from './orders.ts'

/**
 * Inside handlers the clock moves a second with each call and a millisecond with each reading, and random
 * numbers follow from a seed. Other code keeps the real clock and real random numbers: leases and time-outs
 * depend on them. Two runs with the same environment then write the same values.
 */
export function installHandlerEnvironment({ nowMs, seed }: HandlerEnvironment): void {
  let readings = 0
  const now = (real: () => number) => {
    const call = currentCall()
    return call === undefined ? real() : nowMs + call.number * 1_000 + readings++
  }
  replaceDate(now)
  replaceCounters(now)
  replaceRandom(randomNumbers(seed))
  syncBuiltinESMExports()
}

/** Clocks that count from the start of the process or of the machine. */
function replaceCounters(now: (real: () => number) => number): void {
  const inHandler = () => currentCall() !== undefined
  const nowMs = () => now(() => 0)
  replace(performance, 'now', real => () => (inHandler() ? nowMs() : real()))
  const { hrtime } = process
  const realPair = hrtime.bind(process)
  const realBigint = hrtime.bigint.bind(hrtime)
  const pair = (since?: [number, number]): [number, number] => {
    if (!inHandler()) return realPair(since)
    const nanoseconds = nowNs() - (since === undefined ? 0n : BigInt(since[0]) * secondNs + BigInt(since[1]))
    return [Number(nanoseconds / secondNs), Number(nanoseconds % secondNs)]
  }
  const nowNs = () => BigInt(nowMs()) * 1_000_000n
  const bigint = () => (inHandler() ? nowNs() : realBigint())
  Object.defineProperty(process, 'hrtime', {
    value: Object.assign(pair, { bigint }),
    configurable: true,
    writable: true,
  })
}

const secondNs = 1_000_000_000n

function replaceDate(now: (real: () => number) => number): void {
  const Real = Date
  const realNow = Date.now.bind(Date)
  const Watched = function (this: unknown, ...given: []) {
    if (new.target === undefined) return new Real(now(realNow)).toString()
    return Reflect.construct(Real, given.length === 0 ? [now(realNow)] : given, new.target)
  } as unknown as DateConstructor
  Object.setPrototypeOf(Watched, Real)
  Object.defineProperty(Watched, 'prototype', { value: Real.prototype })
  Object.defineProperty(Watched, 'now', { value: () => now(realNow), configurable: true, writable: true })
  // An instance made by the real constructor must be an instance of the other one too.
  Object.defineProperty(Real.prototype, 'constructor', { value: Watched, configurable: true, writable: true })
  globalThis.Date = Watched
}

/** Numbers in [0, 1) that follow from the seed (mulberry32). */
export function randomNumbers(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
