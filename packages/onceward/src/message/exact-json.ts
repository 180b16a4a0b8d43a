/**
 * JSON with every digit of a bigint. Undefined for values that JSON cannot represent, like `JSON.stringify`.
 */
export function exactJson(value: unknown): string {
  try {
    return JSON.stringify(value)
  } catch (error) {
    // Bigints are rare, and a replacer takes several times as long.
    if (error instanceof TypeError && holdsBigint(value)) return JSON.stringify(value, exactBigint)
    throw error
  }
}

// Missing in TypeScript's types; Node has it since version 22.
const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown }

function exactBigint(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? rawJSON(value.toString()) : value
}

function holdsBigint(value: unknown, seen = new Set<unknown>()): boolean {
  if (typeof value === 'bigint') return true
  if (value === null || typeof value !== 'object' || seen.has(value)) return false
  seen.add(value)
  return Object.values(value).some(inner => holdsBigint(inner, seen))
}
