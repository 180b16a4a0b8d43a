/** A part of an identity that says something. What is missing would be the same text for everybody. */
export function isNamed(part: unknown): part is string | number | bigint {
  if (typeof part === 'string') return part !== ''
  return typeof part === 'bigint' || (typeof part === 'number' && Number.isFinite(part))
}
