import { guidBytes, guidOf, guidText } from './guid.ts'
import { VarintReader, writeSigned } from './varint.ts'
import { type Framed, type FrameOptions, headerBytes, type WritableFormat } from './wire-format.ts'

/** The header in which Confluent's serializers put the GUID of a value's schema. */
const guidHeader = '__value_schema_id'

/** Nesting of Protobuf messages; protoc accepts less. */
const indexesMax = 64

/**
 * Confluent's format. In the payload: a zero byte and the id in 4 bytes. In the header `__value_schema_id`: a
 * one and the GUID, and the payload is only the message. Protobuf has the place of the message in its file
 * behind id or GUID. A message with the header is read by its header.
 */
export const confluentWire: WritableFormat = {
  name: 'confluent',
  read(body, { headers }, options) {
    const header = headerBytes(headers, guidHeader)
    if (header === null) return readFrame(body, options)
    const { payload, ...framed } = readFrame(header, options)
    if (payload.length > 0) throw new RangeError(`header ${guidHeader} is ${payload.length} bytes too long`)
    return { ...framed, payload: body }
  },
  write({ ids, payload, indexes }) {
    const prefix = Buffer.alloc(5)
    prefix.writeUInt32BE(ids.id, 1)
    return { body: Buffer.concat([prefix, indexBytes(indexes), payload]), headers: {} }
  },
}

/** The same format, written with the GUID in the header. */
export const confluentHeaderWire: WritableFormat = {
  name: 'confluent with headers',
  read: confluentWire.read,
  write({ ids, payload, indexes }) {
    if (ids.guid === null)
      throw new RangeError('the registry gave the schema no GUID, which the header needs')
    const header = Buffer.concat([Buffer.of(1), guidOf(ids.guid), indexBytes(indexes)])
    return { body: Buffer.from(payload), headers: { [guidHeader]: header } }
  },
}

function readFrame(bytes: Buffer, { protobuf }: FrameOptions): Framed {
  const magic = bytes[0]
  if (magic !== 0 && magic !== 1)
    throw new RangeError(
      magic === undefined ? 'no bytes' : `the first byte is ${magic}, not 0 or 1 of Confluent's format`,
    )
  const end = magic === 0 ? 5 : 1 + guidBytes
  if (bytes.length < end) throw new RangeError(`${bytes.length} bytes: too short for a schema reference`)
  const ref =
    magic === 0
      ? ({ kind: 'id', id: bytes.readUInt32BE(1) } as const)
      : ({ kind: 'guid', guid: guidText(bytes.subarray(1, end)) } as const)
  if (!protobuf) return { ref, payload: bytes.subarray(end), indexes: null }
  const reader = new VarintReader(bytes, end)
  const indexes = readIndexes(reader)
  return { ref, payload: bytes.subarray(reader.at), indexes }
}

/** The short form of the first message of a file is a single zero. */
function readIndexes(reader: VarintReader): readonly number[] {
  const count = reader.signed()
  if (count === 0) return [0]
  if (count < 0 || count > indexesMax) throw new RangeError(`${count} message indexes`)
  const indexes = Array.from({ length: count }, () => reader.signed())
  const negative = indexes.find(index => index < 0)
  if (negative !== undefined) throw new RangeError(`message index ${negative}`)
  return indexes
}

function indexBytes(indexes: readonly number[] | null): Buffer {
  if (indexes === null) return Buffer.alloc(0)
  if (indexes.length === 1 && indexes[0] === 0) return Buffer.of(0)
  return Buffer.from([indexes.length, ...indexes].flatMap(writeSigned))
}
