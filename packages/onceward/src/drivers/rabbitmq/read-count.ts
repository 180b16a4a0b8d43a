import { wideDigits } from '../../message/wide-integer.ts'

/** A store keeps whole numbers up to this one. */
const countMax = 2 ** 31 - 1

/**
 * A header in which a queue counts. Until a queue has counted, a publisher may have written anything there:
 * what is no count is none.
 */
export function readCount(value: unknown): number {
  const text = wideDigits(value) ?? value
  const number = typeof text === 'string' && /^\d{1,20}$/.test(text) ? Number(text) : text
  if (typeof number === 'bigint') return number > 0n ? Number(number < countMax ? number : countMax) : 0
  return typeof number === 'number' && number > 0 ? Math.min(Math.floor(number), countMax) : 0
}
