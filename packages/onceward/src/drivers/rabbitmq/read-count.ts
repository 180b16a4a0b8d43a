import { wideDigits } from '../../message/wide-integer.ts'

/** The largest count that a store accepts. */
const countMax = 2 ** 31 - 1

/**
 * Reads a header in which a queue counts. Until a queue has counted, a publisher may have written any value;
 * an invalid count is 0.
 */
export function readCount(value: unknown): number {
  const text = wideDigits(value) ?? value
  const number = typeof text === 'string' && /^\d{1,20}$/.test(text) ? Number(text) : text
  if (typeof number === 'bigint') return number > 0n ? Number(number < countMax ? number : countMax) : 0
  return typeof number === 'number' && number > 0 ? Math.min(Math.floor(number), countMax) : 0
}
