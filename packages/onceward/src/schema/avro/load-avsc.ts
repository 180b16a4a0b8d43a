import type { Type, types } from 'avsc'
import { loadPeer } from '../load-peer.ts'
import type { RegisteredSchema } from '../registered-schema.ts'
import { parseAvro } from './avro-schema.ts'

/** How Avro values become values of JavaScript. */
export interface AvroTypeOptions {
  /**
   * How `long` is read. `number`, the default: a value beyond 2^53 makes the message undecodable, because it
   * would be rounded. `bigint`: every long is a bigint.
   */
  readonly longs?: 'number' | 'bigint'
  /** avsc's classes of logical types by name, such as `decimal`. Default: the underlying values. */
  readonly logicalTypes?: Readonly<Record<string, new (schema: never, options?: never) => unknown>>
}

export type Avsc = typeof import('avsc')

export const loadAvsc = (): Promise<Avsc> =>
  loadPeer('avsc', async () => {
    const loaded = await import('avsc')
    return (loaded as { default?: Avsc }).default ?? loaded
  })

/** avsc's type of a schema, with the schemas it names. */
export function avroType(
  { Type, types }: Avsc,
  schema: RegisteredSchema,
  { longs, logicalTypes }: AvroTypeOptions,
): Type {
  const parsed = parseAvro(schema)
  const registry: Record<string, Type> = longs === 'bigint' ? { long: bigLong(types) } : {}
  const options = { registry, omitRecordMethods: true, ...(logicalTypes && { logicalTypes }) } as never
  for (const named of parsed.named) Type.forSchema(named as never, options)
  return Type.forSchema(parsed.schema as never, options)
}

function bigLong({ LongType }: typeof types): Type {
  return LongType.__with({
    fromBuffer: (bytes: Buffer) => bytes.readBigInt64LE(),
    toBuffer: (value: bigint) => {
      const bytes = Buffer.alloc(8)
      bytes.writeBigInt64LE(value)
      return bytes
    },
    fromJSON: BigInt,
    toJSON: Number,
    isValid: (value: unknown) => typeof value === 'bigint',
    compare: (one: bigint, other: bigint) => (one === other ? 0 : one < other ? -1 : 1),
  } as never) as never
}
