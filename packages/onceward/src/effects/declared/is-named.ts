/**
 * Whether a part identifies something. A missing part would be the same text for every message, and a rounded
 * number would equal its neighbours.
 */
export function isNamed(part: unknown): part is string | number | bigint {
  if (typeof part === 'string') return part !== ''
  return (
    typeof part === 'bigint' ||
    (typeof part === 'number' && Number.isFinite(part) && Math.abs(part) <= Number.MAX_SAFE_INTEGER)
  )
}
