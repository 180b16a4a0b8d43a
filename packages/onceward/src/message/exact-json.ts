/** JSON with every digit of a bigint. Undefined for what JSON does not know, as `JSON.stringify`. */
export function exactJson(value: unknown): string {
  try {
    return JSON.stringify(value)
  } catch (error) {
    // Nearly nobody has one, and a replacer takes several times as long.
    if (error instanceof TypeError && holdsBigint(value)) return JSON.stringify(value, exactBigint)
    throw error
  }
}

// TypeScript does not know it yet; Node has it from 22 on.
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
