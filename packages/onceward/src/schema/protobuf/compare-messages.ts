import type { DescField, DescMessage } from '@bufbuild/protobuf'
import { allMessages, type ProtoField, type ProtoFile, type ProtoMessage } from './proto-outline.ts'

/** Scalars of one group are read as each other; as in `google.protobuf.FieldDescriptorProto.Type`. */
const groups: Readonly<Record<string, string>> = {
  int32: 'varint',
  int64: 'varint',
  uint32: 'varint',
  uint64: 'varint',
  bool: 'varint',
  sint32: 'zigzag',
  sint64: 'zigzag',
  fixed32: 'fixed32',
  sfixed32: 'fixed32',
  fixed64: 'fixed64',
  sfixed64: 'fixed64',
  float: 'float',
  double: 'double',
  string: 'text',
  bytes: 'text',
}

/** Why a consumer of `reader` cannot read what was written by the files; null if it can. */
export function whyUnreadable(reader: DescMessage, files: readonly ProtoFile[]): string | null {
  const written = new Map(
    files.flatMap(({ messages }) => allMessages(messages)).map(message => [message.fullName, message]),
  )
  const enums = new Set(files.flatMap(file => [...file.enums]))
  const writer = written.get(reader.typeName)
  if (writer === undefined) return `it has no message ${reader.typeName}`
  return compare(reader, writer, { written, enums, seen: new Set() })
}

interface Files {
  readonly written: ReadonlyMap<string, ProtoMessage>
  readonly enums: ReadonlySet<string>
  readonly seen: Set<string>
}

function compare(reader: DescMessage, writer: ProtoMessage, files: Files): string | null {
  if (files.seen.has(reader.typeName)) return null
  files.seen.add(reader.typeName)
  for (const field of writer.fields) {
    const read = reader.fields.find(({ number }) => number === field.number)
    const problem = read === undefined ? null : compareField(read, field, writer, files)
    if (problem !== null) return problem
  }
  return null
}

function compareField(read: DescField, field: ProtoField, writer: ProtoMessage, files: Files): string | null {
  const place = `field ${field.number} of ${writer.fullName}`
  const is = groupOf(read)
  const was = writtenGroup(field, files.enums)
  if (is !== was) return `${place} was written as ${field.type} and is read as ${kindText(read)}`
  const isRepeated = read.fieldKind === 'list' || read.fieldKind === 'map'
  if (field.repeated && !isRepeated) return `${place} was written several times and is read once`
  const inner = read.fieldKind === 'map' ? undefined : read.message
  if (inner === undefined) return null
  const nested = resolve(field.type, writer, files)
  return nested === null ? null : compare(inner, nested, files)
}

function groupOf(field: DescField): string {
  if (field.fieldKind === 'map') return 'map'
  if (field.enum !== undefined) return 'varint'
  if (field.message !== undefined) return 'message'
  return groups[scalarName(field)] ?? 'unknown'
}

function writtenGroup({ type }: ProtoField, enums: ReadonlySet<string>): string {
  if (type === 'map') return 'map'
  return groups[type] ?? (enums.has(type.split('.').at(-1)!) ? 'varint' : 'message')
}

/** The numbers of `ScalarType`. */
const scalarNames = [
  ...['', 'double', 'float', 'int64', 'uint64', 'int32', 'fixed64', 'fixed32', 'bool', 'string'],
  ...['', '', 'bytes', 'uint32', '', 'sfixed32', 'sfixed64', 'sint32', 'sint64'],
]

function scalarName(field: DescField): string {
  return scalarNames[(field as { readonly scalar?: number }).scalar ?? 0] ?? ''
}

function kindText(field: DescField): string {
  if (field.fieldKind === 'map') return 'map'
  return field.message?.typeName ?? field.enum?.typeName ?? scalarName(field)
}

/** From the innermost scope outwards, as protoc resolves names. */
function resolve(type: string, { fullName }: ProtoMessage, { written }: Files): ProtoMessage | null {
  if (type.startsWith('.')) return written.get(type.slice(1)) ?? null
  const scope = fullName.split('.')
  for (let size = scope.length; size >= 0; size--) {
    const found = written.get([...scope.slice(0, size), type].join('.'))
    if (found !== undefined) return found
  }
  return null
}
