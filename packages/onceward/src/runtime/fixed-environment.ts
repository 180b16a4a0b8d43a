import nodeCrypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import type { FixedEnvironment } from '../review/samples/try-identities.ts'

type Restore = () => void

/**
 * Runs `work` with another clock and another random source: `Date`, `performance.now`, `Math.random`,
 * `crypto.randomUUID` and `crypto.getRandomValues`. Restores them afterwards. Only for a process that does
 * nothing else meanwhile.
 */
export async function inEnvironment<T>(
  environment: FixedEnvironment,
  work: () => T | Promise<T>,
): Promise<T> {
  const restores = replaceAll(environment)
  try {
    return await work()
  } finally {
    for (const restore of restores.reverse()) restore()
    syncBuiltinESMExports()
  }
}

function replaceAll({ nowMs, random }: FixedEnvironment): Restore[] {
  const uuid = () => uuidOf(random)
  const restores = [
    replace(globalThis, 'Date', fixedDate(nowMs)),
    replace(performance, 'now', () => nowMs % 1e9),
    replace(Math, 'random', () => random),
    replace(globalThis.crypto, 'randomUUID', uuid),
    replace(globalThis.crypto, 'getRandomValues', (into: Uint8Array) => into.fill(byteOf(random))),
    replace(nodeCrypto, 'randomUUID', uuid),
  ]
  // Named imports of node:crypto see the replacement only after this call.
  syncBuiltinESMExports()
  return restores
}

function replace(owner: object, name: string, value: unknown): Restore {
  const before = Object.getOwnPropertyDescriptor(owner, name)
  Object.defineProperty(owner, name, { value, configurable: true, writable: true })
  return () => {
    if (before === undefined) Reflect.deleteProperty(owner, name)
    else Object.defineProperty(owner, name, before)
  }
}

function fixedDate(nowMs: number): DateConstructor {
  const Real = Date
  const Fixed = function (this: unknown, ...given: []) {
    if (new.target === undefined) return new Real(nowMs).toString()
    return Reflect.construct(Real, given.length === 0 ? [nowMs] : given, new.target)
  } as unknown as DateConstructor
  Object.setPrototypeOf(Fixed, Real)
  Object.defineProperty(Fixed, 'prototype', { value: Real.prototype })
  Object.defineProperty(Fixed, 'now', { value: () => nowMs })
  return Fixed
}

const byteOf = (random: number) => Math.floor(random * 256)

function uuidOf(random: number): string {
  const pair = byteOf(random).toString(16).padStart(2, '0')
  return `${pair.repeat(4)}-${pair.repeat(2)}-4${pair}0-8${pair}0-${pair.repeat(6)}`
}
