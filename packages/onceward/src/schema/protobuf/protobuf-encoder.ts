import type { DescMessage, Message } from '@bufbuild/protobuf'
import type { MessageEncoder } from '../../contract/publish-target.ts'
import { type RegistryEncoderOptions, registryEncoder } from '../encode/registry-encoder.ts'
import { loadProtobuf } from './load-protobuf.ts'

/** Options of a Protobuf encoder. */
export interface ProtobufEncoderOptions extends RegistryEncoderOptions {
  /** The message, as `protoc-gen-es` generates it. */
  readonly message: DescMessage
  /** The text of its `.proto` file, as the registry keeps it. */
  readonly schema: string
}

/** Writes Protobuf messages of one type. Uses the package `@bufbuild/protobuf`. */
export function protobufEncoder({ message, schema, ...options }: ProtobufEncoderOptions): MessageEncoder {
  const prepare = async () => {
    const { create, toBinary } = await loadProtobuf()
    const write = (body: unknown) => {
      const whole = isMessage(body) ? body : create(message, body as never)
      if (whole.$typeName !== message.typeName)
        throw new TypeError(`the body is a ${whole.$typeName}, and the target takes ${message.typeName}`)
      return toBinary(message, whole)
    }
    return { recordName: message.typeName, indexes: indexesOf(message), write }
  }
  const registered = { type: 'PROTOBUF', text: schema, references: [] } as const
  return registryEncoder('protobuf', 'application/x-protobuf', registered, prepare, options)
}

function isMessage(body: unknown): body is Message {
  return typeof body === 'object' && body !== null && '$typeName' in body
}

/** The place in the compiled file, which counts the messages of maps. */
function indexesOf({ proto, parent, file }: DescMessage): readonly number[] {
  const among = parent === undefined ? file.proto.messageType : parent.proto.nestedType
  const index = among.findIndex(({ name }) => name === proto.name)
  return parent === undefined ? [index] : [...indexesOf(parent), index]
}
