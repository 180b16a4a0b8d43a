import type { DescriptorProto } from '@bufbuild/protobuf/wkt'
import { loadPeer } from '../load-peer.ts'
import { loadProtobuf } from './load-protobuf.ts'
import { type ProtoFile, type ProtoMessage, parseProto } from './proto-outline.ts'

/** A registered schema: the text of the file, or the compiled file in base64, as some serializers do. */
export async function protoFileOf(schema: string): Promise<ProtoFile> {
  return /^[\w+/]+={0,2}$/.test(schema.trim()) ? compiledFile(schema) : parseProto(schema)
}

async function compiledFile(schema: string): Promise<ProtoFile> {
  const { fromBinary } = await loadProtobuf()
  const { FileDescriptorProtoSchema } = await loadPeer(
    '@bufbuild/protobuf/wkt',
    () => import('@bufbuild/protobuf/wkt'),
  )
  const file = fromBinary(FileDescriptorProtoSchema, Buffer.from(schema, 'base64'))
  const messages = file.messageType.map(message => outlineOf(message, file.package))
  const enums = new Set([...file.enumType.map(({ name }) => name), ...file.messageType.flatMap(enumsIn)])
  return { package: file.package, messages, enums }
}

function enumsIn({ enumType, nestedType }: DescriptorProto): readonly string[] {
  return [...enumType.map(({ name }) => name), ...nestedType.flatMap(enumsIn)]
}

/** As in `google.protobuf.FieldDescriptorProto.Type`. */
const typeNames = [
  ...['', 'double', 'float', 'int64', 'uint64', 'int32', 'fixed64', 'fixed32', 'bool', 'string'],
  ...['group', 'message', 'bytes', 'uint32', 'enum', 'sfixed32', 'sfixed64', 'sint32', 'sint64'],
]
const repeatedLabel = 3

function outlineOf(message: DescriptorProto, outer: string): ProtoMessage {
  const fullName = outer === '' ? message.name : `${outer}.${message.name}`
  const nested = message.nestedType.map(one => outlineOf(one, fullName))
  const maps = new Set(nested.filter(one => one.isMapEntry).map(one => `.${one.fullName}`))
  return {
    name: message.name,
    fullName,
    nested,
    isMapEntry: message.options?.mapEntry === true,
    fields: message.field.map(({ name, number, type, typeName, label }) => ({
      name,
      number,
      type: maps.has(typeName) ? 'map' : typeName || typeNames[type]!,
      repeated: label === repeatedLabel,
    })),
  }
}
