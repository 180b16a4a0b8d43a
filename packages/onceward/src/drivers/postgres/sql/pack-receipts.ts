import type { Receipt, ReceiptFacts } from '../../../ports/receipts.ts'

export interface ReceiptOfMessage {
  readonly id: string
  readonly receipt: Receipt
}

/** The receipts of a batch as one row. */
export interface PackedReceipts {
  readonly facts: string
  readonly payloads: Buffer | null
  /** The row gets an index entry for each id. */
  readonly isIndexed: boolean
}

/**
 * By column, and a column of one value as that value: most messages of a batch have the same type, version,
 * producer and mode. A row each cost as much as the markers themselves.
 */
export function packReceipts(messages: readonly ReceiptOfMessage[]): PackedReceipts {
  const packed: Record<string, unknown> = { id: messages.map(({ id }) => id) }
  for (const name of Object.keys(messages[0]!.receipt.facts) as (keyof ReceiptFacts)[]) {
    const first = messages[0]!.receipt.facts[name]
    const isSame = messages.every(({ receipt }) => receipt.facts[name] === first)
    if (!isSame) packed[name] = messages.map(({ receipt }) => receipt.facts[name])
    else if (first !== null) packed[name] = first
  }
  const payloads = messages.map(({ receipt }) => receipt.payload)
  const isKept = payloads.every(payload => payload !== null)
  if (isKept) packed.bytes = payloads.map(payload => payload.length)
  return {
    facts: JSON.stringify(packed),
    payloads: isKept ? Buffer.concat(payloads) : null,
    isIndexed: messages.some(({ receipt }) => receipt.outlivesMarker),
  }
}

export interface UnpackedReceipt {
  readonly facts: Readonly<Record<string, string | number | null>>
  /** Where the message is among those of the row. */
  readonly index: number
  /** Its bytes within `payloads`; null when they are not kept. */
  readonly bytes: { readonly from: number; readonly length: number } | null
}

/** The receipt of one message; null when the row does not have it. The last one counts. */
export function unpackReceipt(packed: Readonly<Record<string, unknown>>, id: string): UnpackedReceipt | null {
  const { id: ids, bytes, ...columns } = packed as { id: readonly string[]; bytes?: readonly number[] }
  const index = ids.lastIndexOf(id)
  if (index < 0) return null
  const entries = Object.entries(columns).map(([name, value]) => [
    name,
    Array.isArray(value) ? value[index] : value,
  ])
  const from = bytes?.slice(0, index).reduce((sum, length) => sum + length, 0) ?? 0
  return {
    facts: Object.fromEntries(entries),
    index,
    bytes: bytes === undefined ? null : { from, length: bytes[index]! },
  }
}
