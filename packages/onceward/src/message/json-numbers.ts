/** A double represents any decimal number of fifteen digits exactly. */
const digitsMin = 16
const [zero, nine, point, minus] = [0x30, 0x39, 0x2e, 0x2d]
/** What may precede a number: space, tab, line ends, a colon, a comma, an opening bracket. */
const before = new Set([0x20, 0x09, 0x0a, 0x0d, 0x3a, 0x2c, 0x5b])

/**
 * Whether a JSON text may contain a number with more digits than a double keeps. A run of sixteen digits
 * covers a position divisible by sixteen, so only those are checked: 0.12 us for 330 bytes, which take 2.4 us
 * to decode. Parsing every body with a reviver took eight times as long as without.
 */
export function mayLoseDigits(bytes: Buffer): boolean {
  for (let at = digitsMin - 1; at < bytes.length; at += digitsMin) {
    if (!isDigit(bytes[at]!)) continue
    let start = at
    while (start > 0 && isDigit(bytes[start - 1]!)) start--
    let end = at + 1
    while (end < bytes.length && isDigit(bytes[end]!)) end++
    if (end - start >= digitsMin && beginsNumber(bytes, start)) return true
    at += Math.floor((end - at) / digitsMin) * digitsMin
  }
  return false
}

function isDigit(byte: number): boolean {
  return (byte >= zero && byte <= nine) || byte === point
}

/** Digits inside a text follow a quote or a letter, and rarely one of these characters. */
function beginsNumber(bytes: Buffer, start: number): boolean {
  const at = bytes[start - 1] === minus ? start - 2 : start - 1
  return at < 0 || before.has(bytes[at]!)
}

/**
 * A JSON text with all its digits: whole numbers beyond 2^53 as bigint, and the text of other rounded
 * numbers.
 */
export interface ExactJson {
  readonly value: unknown
  /** Numbers in the value whose text had more digits, with that text. */
  readonly inexact: ReadonlyMap<number, string>
}

/** `check` is called with the name of each member. */
export function parseExact(text: string, check: (key: string) => void): ExactJson {
  const inexact = new Map<number, string>()
  const value = JSON.parse(text, ((key: string, read: unknown, { source }: { source?: string }) => {
    check(key)
    if (typeof read !== 'number' || source === undefined) return read
    if (Number.isSafeInteger(read) && source.length < digitsMin) return read
    if (/^-?\d+$/.test(source)) return Number.isSafeInteger(read) ? read : BigInt(source)
    if (isSameNumber(source, read)) return read
    const whole = wideWhole(source, read)
    if (whole !== null) return whole
    inexact.set(read, source)
    return read
  }) as Reviver)
  return { value, inexact }
}

// Missing in TypeScript's types: since version 22, Node passes the source text of a value.
type Reviver = (key: string, value: unknown) => unknown

/** True if the shortest text of the double equals the source in any notation. */
function isSameNumber(source: string, read: number): boolean {
  return Number.isFinite(read) && normalised(source) === normalised(String(read))
}

/**
 * A whole number beyond 2^53 in another notation: `9007199254740993.0` and `9.007199254740993e15` are the
 * same account. Null for other numbers.
 */
function wideWhole(source: string, read: number): bigint | null {
  if (!Number.isFinite(read) || Math.abs(read) <= Number.MAX_SAFE_INTEGER) return null
  const { significant, shift } = partsOf(source)
  if (shift < 0) return null
  const size = BigInt(significant + '0'.repeat(shift))
  return read < 0 ? -size : size
}

function normalised(text: string): string {
  const { significant, shift } = partsOf(text)
  return significant === '' ? '0' : `${significant}e${shift}`
}

/** Significant digits and the place of the point. */
function partsOf(text: string): { readonly significant: string; readonly shift: number } {
  const [, whole, fraction = '', exponent = '0'] = /^-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text)!
  const digits = (whole + fraction).replace(/^0+/, '')
  const significant = digits.replace(/0+$/, '')
  return { significant, shift: Number(exponent) - fraction.length + digits.length - significant.length }
}

/** The first bigint and its path: `account`, or `lines.0.id`. */
export function findBigint(
  value: unknown,
  path = '',
): { readonly path: string; readonly found: bigint } | null {
  if (typeof value === 'bigint') return { path, found: value }
  if (value === null || typeof value !== 'object') return null
  for (const [name, inner] of Object.entries(value)) {
    const found = findBigint(inner, path === '' ? name : `${path}.${name}`)
    if (found !== null) return found
  }
  return null
}
