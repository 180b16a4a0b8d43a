import type { EncodedMessage, MessageEncoder } from '../../contract/publish-target.ts'
import type { RegisteredSchema } from '../registered-schema.ts'
import { type SubjectChoice, subjectOf } from '../subject.ts'
import { confluentWire } from '../wire/confluent.ts'
import type { WritableFormat } from '../wire/wire-format.ts'
import { SchemaIdCache, type SchemaIdsOptions } from './schema-ids.ts'
import { snapshot } from './snapshot.ts'

/** The options of every encoder that writes by a registry. */
export interface RegistryEncoderOptions extends SchemaIdsOptions {
  /** Default: Confluent's format with the id in the payload. */
  readonly wire?: WritableFormat
  /** Default `topic`. */
  readonly subject?: SubjectChoice
}

/** The payload of a body, and its name and place. */
export interface Writer {
  readonly recordName: string
  /** Null for other payloads than Protobuf. */
  readonly indexes: readonly number[] | null
  write(body: unknown): Uint8Array
}

/** Encodes bodies by one schema. The library is loaded, and the id asked for, with the first one. */
export function registryEncoder(
  name: string,
  contentType: string,
  schema: RegisteredSchema,
  prepare: () => Promise<Writer>,
  { wire = confluentWire, subject = 'topic', ...options }: RegistryEncoderOptions,
): MessageEncoder {
  const ids = new SchemaIdCache(options, schema)
  let writer: Writer | null = null
  const encoded = (ready: Writer, payload: Uint8Array, known: Parameters<typeof wire.write>[0]['ids']) => {
    const { body, headers } = wire.write({ ids: known, payload, indexes: ready.indexes })
    return { body, contentType, headers } satisfies EncodedMessage
  }
  const encode = (ready: Writer, body: unknown, topic: string): EncodedMessage | Promise<EncodedMessage> => {
    const payload = ready.write(body)
    const known = ids.get(subjectOf(subject, topic, ready.recordName))
    return known instanceof Promise
      ? known.then(found => encoded(ready, payload, found))
      : encoded(ready, payload, known)
  }
  return {
    name: `${name} by ${wire.name}`,
    encode(body, { topic }) {
      if (writer !== null) return encode(writer, body, topic)
      const given = snapshot(body)
      return prepare().then(ready => {
        writer = ready
        return encode(ready, given, topic)
      })
    },
  }
}
