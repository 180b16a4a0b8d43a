import { VarintReader } from './varint.ts'
import { type Framed, type FrameOptions, headerBytes, type WireFormat } from './wire-format.ts'

const globalIdHeader = 'apicurio.value.globalId'
const contentIdHeader = 'apicurio.value.contentId'
const protobufTypeHeader = 'apicurio.protobuf.type'
const encodingHeader = 'apicurio.value.encoding'

/** The number in the payload: 8 bytes of a global id in Apicurio 2, 4 bytes of a content id in Apicurio 3. */
export interface ApicurioOptions {
  /** Default 4. */
  readonly idBytes?: 4 | 8
  /** Default `contentId` with 4 bytes, `globalId` with 8. */
  readonly id?: 'globalId' | 'contentId'
}

/**
 * Apicurio's format. In the payload: a zero byte and the id in 4 or 8 bytes; Protobuf has the name of the
 * message behind it, as a message of its own. In headers: the id in 8 bytes and the name, and the payload is
 * only the message.
 */
export function apicurioWire(options: ApicurioOptions = {}): WireFormat {
  const { idBytes = 4, id: kind = idBytes === 4 ? 'contentId' : 'globalId' } = options
  const readPayload = (body: Buffer, { protobuf }: FrameOptions): Framed => {
    if (body[0] !== 0) throw new RangeError(`the first byte is ${body[0]}, not 0 of Apicurio's format`)
    if (body.length < 1 + idBytes) throw new RangeError(`${body.length} bytes: too short for a schema id`)
    const id = idBytes === 4 ? BigInt(body.readUInt32BE(1)) : body.readBigInt64BE(1)
    const ref = positive({ kind, id })
    const payload = body.subarray(1 + idBytes)
    if (!protobuf) return { ref, payload, indexes: null }
    const { name, end } = readName(payload)
    return { ref, payload: payload.subarray(end), indexes: null, messageName: name }
  }
  return {
    name: `apicurio (${idBytes} bytes)`,
    read(body, { headers }, options) {
      const ref = refOf(headers)
      if (ref === null) return readPayload(body, options)
      if (headerText(headers, encodingHeader) === 'JSON')
        throw new RangeError(`header ${encodingHeader} is JSON, and only BINARY is read`)
      const messageName = headerText(headers, protobufTypeHeader)
      return { ref, payload: body, indexes: null, ...(messageName !== null && { messageName }) }
    },
  }
}

type Headers = Parameters<typeof headerBytes>[0]

function refOf(headers: Headers): ApicurioRef | null {
  const content = headerBytes(headers, contentIdHeader)
  if (content !== null) return positive({ kind: 'contentId', id: longOf(content, contentIdHeader) })
  const global = headerBytes(headers, globalIdHeader)
  return global === null ? null : positive({ kind: 'globalId', id: longOf(global, globalIdHeader) })
}

interface ApicurioRef {
  readonly kind: 'globalId' | 'contentId'
  readonly id: bigint
}

function positive(ref: ApicurioRef): ApicurioRef {
  if (ref.id < 0n) throw new RangeError(`schema ${ref.kind} ${ref.id} is negative`)
  return ref
}

function headerText(headers: Headers, name: string): string | null {
  return headerBytes(headers, name)?.toString('utf8') ?? null
}

function longOf(bytes: Buffer, name: string): bigint {
  if (bytes.length !== 8) throw new RangeError(`header ${name} has ${bytes.length} bytes, not 8`)
  return bytes.readBigInt64BE()
}

/** A message with one text field (number 1), with its length before it. */
function readName(bytes: Buffer): { readonly name: string; readonly end: number } {
  const reader = new VarintReader(bytes)
  const length = reader.unsigned()
  const end = reader.at + length
  if (end > bytes.length) throw new RangeError('the name of the message ends after the last byte')
  if (length === 0) return { name: '', end }
  const field = new VarintReader(bytes.subarray(0, end), reader.at)
  if (field.unsigned() !== 10) throw new RangeError('no name of a message before the Protobuf bytes')
  const size = field.unsigned()
  if (field.at + size !== end) throw new RangeError('the name of the message has another length')
  return { name: bytes.toString('utf8', field.at, end), end }
}
