import { hash } from 'node:crypto'
import { OncewardError } from '../errors.ts'

/**
 * A UUID (version 8) derived from its parts: the same parts give the same id in every process at any time.
 * Use it for messages and commands that must keep their id when the same event causes them again.
 */
export function stableId(...parts: readonly [string | number, ...(string | number)[]]): string {
  const hole = parts.findIndex(
    part =>
      typeof part !== 'string' && !(typeof part === 'number' && Math.abs(part) <= Number.MAX_SAFE_INTEGER),
  )
  if (hole !== -1 || parts.length === 0) throw shared(Math.max(0, hole))
  const hex = hash('sha256', JSON.stringify(parts))
  const variant = ((Number.parseInt(hex[16]!, 16) & 0x3) | 0x8).toString(16)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}

function shared(place: number): OncewardError {
  return new OncewardError(
    'usage',
    `stableId needs a text or a number below 2^53 for every part, and part ${place + 1} is something else; different things would share an id.`,
  )
}
