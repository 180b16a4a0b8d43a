/**
 * A part of an identity that says something. What is missing would be the same text for everybody, and a
 * rounded number that of its neighbours.
 */
export function isNamed(part: unknown): part is string | number | bigint {
  if (typeof part === 'string') return part !== ''
  return (
    typeof part === 'bigint' ||
    (typeof part === 'number' && Number.isFinite(part) && Math.abs(part) <= Number.MAX_SAFE_INTEGER)
  )
}
