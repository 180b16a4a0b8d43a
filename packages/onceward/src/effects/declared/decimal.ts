/** An exact decimal, for comparing balances. A double would round them. */
export interface Decimal {
  readonly units: bigint
  readonly scale: number
}

export const zero: Decimal = { units: 0n, scale: 0 }

const plain = /^(-?)(\d{1,200})(?:\.(\d{1,200}))?$/

/** Null for text that is not a plain decimal number. */
export function decimalOf(text: string): Decimal | null {
  const [, sign, whole, fraction = ''] = plain.exec(text) ?? []
  if (whole === undefined) return null
  const units = BigInt(whole + fraction)
  return { units: sign === '-' ? -units : units, scale: fraction.length }
}

export function sumOf(a: Decimal, b: Decimal): Decimal {
  const scale = Math.max(a.scale, b.scale)
  return { units: scaled(a, scale) + scaled(b, scale), scale }
}

export const negated = ({ units, scale }: Decimal): Decimal => ({ units: -units, scale })

function scaled({ units, scale }: Decimal, wanted: number): bigint {
  return units * 10n ** BigInt(wanted - scale)
}
