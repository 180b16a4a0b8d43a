import type { DescMessage } from '@bufbuild/protobuf'
import type { Codec } from '../../message/codec.ts'
import type { RegisteredSchema } from '../registered-schema.ts'
import { type RegistryCodecOptions, registryCodec } from '../registry-codec.ts'
import type { Framed } from '../wire/wire-format.ts'
import { whyUnreadable } from './compare-messages.ts'
import { loadProtobuf } from './load-protobuf.ts'
import { protoFileOf } from './proto-file.ts'
import { messagesAt, type ProtoFile } from './proto-outline.ts'

/** Options of a Protobuf codec. */
export interface ProtobufCodecOptions extends RegistryCodecOptions {
  /** The messages the consumer reads, as `protoc-gen-es` generates them. Others are undecodable. */
  readonly messages: readonly DescMessage[]
}

/** Nesting of messages; the library's own limit. */
const depthMost = 100

/**
 * Reads Protobuf. The registry's schema says which of its messages the bytes are; the generated code reads
 * them by the numbers of their fields. Uses the package `@bufbuild/protobuf`.
 */
export function protobufCodec({ messages, ...options }: ProtobufCodecOptions): Codec {
  const names = messages.map(({ typeName }) => typeName).join(', ')
  const find = (framed: Framed, file: ProtoFile): DescMessage => {
    const written = namesIn(framed, file)
    const known = messages.filter(message => written.some(name => isNamed(message, name)))
    if (known.length === 1) return known[0]!
    const found = written.length === 0 ? 'a message its schema does not have' : written.join(' or ')
    throw new TypeError(`the message is ${found}, and the contract reads ${names}`)
  }
  return registryCodec(
    {
      name: 'protobuf',
      type: 'PROTOBUF',
      async compile(schema) {
        const { fromBinary } = await loadProtobuf()
        const file = await protoFileOf(schema.text)
        return (framed, limits) =>
          fromBinary(find(framed, file), framed.payload, {
            recursionLimit: Math.min(limits.depthMax, depthMost),
          })
      },
      recordName: async () => messages[0]?.typeName ?? '',
      async unreadable(schema) {
        const files = await filesOf(schema)
        for (const message of messages) {
          const reason = whyUnreadable(message, files)
          if (reason !== null) return reason
        }
        return null
      },
      readsAnything: null,
      parseFile: file => ({ type: 'PROTOBUF', text: file.toString('utf8'), references: [] }),
    },
    options,
  )
}

function filesOf({ text, references }: RegisteredSchema): Promise<readonly ProtoFile[]> {
  return Promise.all([text, ...references.map(reference => reference.text)].map(protoFileOf))
}

/** The names that the bytes may mean. */
function namesIn({ indexes, messageName }: Framed, file: ProtoFile): readonly string[] {
  if (indexes !== null) return messagesAt(file, indexes).map(({ fullName }) => fullName)
  if (messageName !== undefined && messageName !== '') return [messageName]
  return file.messages.slice(0, 1).map(({ fullName }) => fullName)
}

/** Apicurio writes the name without its package. */
function isNamed({ typeName, name }: DescMessage, written: string): boolean {
  return typeName === written || name === written
}
