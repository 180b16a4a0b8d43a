import type { DeliveryFacts } from '../../contract/handler.ts'
import type { SchemaRef } from '../schema-ref.ts'
import type { SchemaIds } from '../schema-source.ts'

/** Bytes apart from the reference to their schema. */
export interface Framed {
  readonly ref: SchemaRef
  readonly payload: Buffer
  /** Confluent and Protobuf: the place of the message in its file. Null elsewhere. */
  readonly indexes: readonly number[] | null
  /** Apicurio and Protobuf: the full name of the message. Absent elsewhere. */
  readonly messageName?: string
}

/** What the format needs to know of the payload. */
export interface FrameOptions {
  readonly protobuf: boolean
  /** Bytes of a payload after decompression. */
  readonly bytesMax: number
}

/** Where a message has the reference to its schema. Reading throws a RangeError on bytes of another form. */
export interface WireFormat {
  readonly name: string
  read(body: Buffer, delivery: Pick<DeliveryFacts, 'headers'>, options: FrameOptions): Framed
}

/** What a frame is asked to carry. */
export interface FrameRequest {
  readonly ids: SchemaIds
  readonly payload: Uint8Array
  /** Null for other payloads than Protobuf. */
  readonly indexes: readonly number[] | null
}

/** Bytes as they are sent, with their schema. */
export interface WrittenFrame {
  readonly body: Buffer
  readonly headers: Readonly<Record<string, Uint8Array>>
}

/** A format in which messages are also sent. */
export interface WritableFormat extends WireFormat {
  write(request: FrameRequest): WrittenFrame
}

/** The bytes of a header, on every broker; null if it is absent. */
export function headerBytes(headers: DeliveryFacts['headers'], name: string): Buffer | null {
  const value = Object.hasOwn(headers, name) ? headers[name] : undefined
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength)
  return typeof value === 'string' ? Buffer.from(value, 'latin1') : null
}
