import nodeCrypto from 'node:crypto'
import { currentCall } from './handler-calls.ts'
import { replace } from './handler-globals.ts'

type Done<T> = (error: null, made: T) => void

/** Every source of random numbers of Node, inside handlers from `next`, which gives numbers in [0, 1). */
export function replaceRandom(next: () => number): void {
  const random = seededRandom(next)
  const webCrypto = globalThis.crypto
  const watched: readonly (readonly [object, string, (...given: never[]) => unknown])[] = [
    [Math, 'random', next],
    [nodeCrypto, 'randomUUID', random.uuid],
    [webCrypto, 'randomUUID', random.uuid],
    [webCrypto, 'getRandomValues', random.fill],
    [nodeCrypto, 'randomBytes', random.bytes],
    [nodeCrypto, 'pseudoRandomBytes', random.bytes],
    [nodeCrypto, 'randomInt', random.int],
    [nodeCrypto, 'randomFillSync', random.fillPart],
    [nodeCrypto, 'randomFill', random.fillLater],
  ]
  for (const [owner, name, seeded] of watched)
    replace(
      owner,
      name,
      real =>
        (...given) =>
          currentCall() === undefined ? real(...given) : seeded(...(given as never[])),
    )
}

function seededRandom(next: () => number) {
  const fill = <T extends ArrayBufferView>(into: T): T => {
    const bytes = new Uint8Array(into.buffer, into.byteOffset, into.byteLength)
    for (let at = 0; at < bytes.length; at++) bytes[at] = Math.floor(next() * 256)
    return into
  }
  const answer = <T>(made: T, done: Done<T> | undefined): T | undefined => {
    if (done === undefined) return made
    setImmediate(done, null, made)
    return undefined
  }
  return {
    fill,
    uuid() {
      const hex = Buffer.from(fill(new Uint8Array(16))).toString('hex')
      return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20)}`
    },
    bytes: (size: number, done?: Done<Buffer>) => answer(fill(Buffer.alloc(size)), done),
    int(...given: readonly unknown[]) {
      const [first, second] = given as [number, number?]
      const [min, max] = typeof second === 'number' ? [first, second] : [0, first]
      const done = given.find(one => typeof one === 'function') as Done<number> | undefined
      return answer(min + Math.floor(next() * (max - min)), done)
    },
    fillPart<T extends ArrayBufferView | ArrayBuffer>(into: T, offset = 0, size?: number): T {
      fillElements(into, offset, size)
      return into
    },
    fillLater(into: ArrayBufferView | ArrayBuffer, ...rest: readonly unknown[]) {
      const [offset = 0, size] = rest.filter(one => typeof one === 'number')
      fillElements(into, offset, size)
      answer(into, rest.at(-1) as Done<typeof into>)
    },
  }

  /** Offset and size count elements, as in Node. */
  function fillElements(into: ArrayBufferView | ArrayBuffer, offset: number, size: number | undefined): void {
    const [buffer, start, length] = ArrayBuffer.isView(into)
      ? [into.buffer, into.byteOffset, into.byteLength]
      : [into, 0, into.byteLength]
    const each = (into as { BYTES_PER_ELEMENT?: number }).BYTES_PER_ELEMENT ?? 1
    const wanted = size === undefined ? length - offset * each : size * each
    fill(new Uint8Array(buffer, start + offset * each, wanted))
  }
}
