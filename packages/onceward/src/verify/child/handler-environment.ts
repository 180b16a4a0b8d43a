import nodeCrypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import { currentCall } from './handler-calls.ts'
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
  replaceRandom(randomNumbers(seed))
}

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

function replaceRandom(next: () => number): void {
  const inHandler = () => currentCall() !== undefined
  const fill = <T extends ArrayBufferView>(into: T): T => {
    const bytes = new Uint8Array(into.buffer, into.byteOffset, into.byteLength)
    for (let at = 0; at < bytes.length; at++) bytes[at] = Math.floor(next() * 256)
    return into
  }
  const uuid = () => {
    const hex = Buffer.from(fill(new Uint8Array(16))).toString('hex')
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20)}`
  }
  const bytes = (size: number, done?: (error: null, made: Buffer) => void) => {
    const made = fill(Buffer.alloc(size))
    if (done === undefined) return made
    setImmediate(done, null, made)
  }
  replace(Math, 'random', real => () => (inHandler() ? next() : real()))
  const webCrypto = globalThis.crypto
  for (const owner of [nodeCrypto, webCrypto])
    replace(
      owner,
      'randomUUID',
      real =>
        (...given) =>
          inHandler() ? uuid() : real(...given),
    )
  replace(webCrypto, 'getRandomValues', real => into => (inHandler() ? fill(into as never) : real(into)))
  replace(nodeCrypto, 'randomBytes', real => (...given) => {
    if (!inHandler()) return real(...given)
    return bytes(given[0] as number, given[1] as never)
  })
  syncBuiltinESMExports()
}

type Callable = (...given: unknown[]) => unknown

function replace(owner: object, name: string, make: (real: Callable) => Callable): void {
  const real = (Reflect.get(owner, name) as Callable).bind(owner)
  Object.defineProperty(owner, name, { value: make(real), configurable: true, writable: true })
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
