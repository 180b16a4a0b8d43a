import { errorText, OncewardError } from '../errors.ts'
import type { Codec, ComparisonRequest, SchemaComparison } from '../message/codec.ts'
import type { Limits } from '../message/limits.ts'
import type { RegisteredSchema, SchemaType } from './registered-schema.ts'
import { SchemaCache, type SchemaCacheOptions } from './schema-cache.ts'
import type { SchemaRegistry, SchemaSource } from './schema-source.ts'
import { type SubjectChoice, subjectOf } from './subject.ts'
import { confluentWire } from './wire/confluent.ts'
import type { Framed, WireFormat } from './wire/wire-format.ts'

/** The options of every codec that reads by a registry. */
export interface RegistryCodecOptions extends Omit<SchemaCacheOptions, 'source' | 'folder' | 'nowMs'> {
  readonly registry: SchemaSource
  /** Default: Confluent's format. */
  readonly wire?: WireFormat
  /** A folder that keeps schemas over a restart. Default: none, so that a start needs the registry. */
  readonly cacheFolder?: string
  /** The subject that `onceward check --live` compares. Default `topic`. */
  readonly subject?: SubjectChoice
}

export type Decode = (framed: Framed, limits: Limits) => unknown

/** What differs between Avro, Protobuf and JSON Schema. */
export interface SchemaLanguage {
  readonly name: string
  readonly type: SchemaType
  compile(schema: RegisteredSchema): Promise<Decode>
  /** The name of what the consumer reads; empty if it has none. */
  recordName(): Promise<string>
  /** Null if the consumer can read messages of that schema; else why not. */
  unreadable(schema: RegisteredSchema): Promise<string | null>
  /** Why nothing can be compared: this consumer reads every message as written. Null if it does not. */
  readonly readsAnything: string | null
  /** A schema from a file. */
  parseFile(file: Buffer): RegisteredSchema
}

/** A codec that gets the writer's schema of each message from a registry. */
export function registryCodec(language: SchemaLanguage, options: RegistryCodecOptions): Codec {
  const { registry, wire = confluentWire, cacheFolder, subject = 'topic', ...limits } = options
  const protobuf = language.type === 'PROTOBUF'
  const cache = new SchemaCache<Decode>(
    { source: registry, folder: cacheFolder, ...limits },
    async schema => {
      if (schema.type === language.type) return language.compile(schema)
      throw new TypeError(`its schema is ${schema.type}, and the contract reads ${language.type}`)
    },
  )
  const frameOf = (bytes: Buffer, { decompressedBytesMax: bytesMax }: Limits, delivery: Headers) =>
    wire.read(bytes, delivery, { protobuf, bytesMax })
  return {
    name: `${language.name} by ${wire.name}`,
    waitMaxMs: cache.waitMaxMs,
    decode(bytes, limits, delivery) {
      const framed = frameOf(bytes, limits, delivery)
      const decode = cache.get(framed.ref)
      return decode instanceof Promise ? decode.then(ready => ready(framed, limits)) : decode(framed, limits)
    },
    async knows(bytes, limits, delivery) {
      return cache.knows(frameOf(bytes, limits, delivery).ref)
    },
    compare: request => compare(language, registry, subject, request),
  }
}

type Headers = Parameters<WireFormat['read']>[1]

async function compare(
  language: SchemaLanguage,
  source: SchemaSource,
  choice: SubjectChoice,
  { origin, next, signal }: ComparisonRequest,
): Promise<SchemaComparison> {
  const subject = subjectOf(choice, origin, await language.recordName())
  const none = { subject, registry: source.name, versions: 0, unreadable: [], refused: [], notCompared: null }
  if (language.readsAnything !== null) return { ...none, notCompared: language.readsAnything }
  if (!hasSubjects(source)) return { ...none, notCompared: 'this registry has no subjects' }
  const versions = await source.versions(subject, signal)
  const unreadable: { version: number | 'next'; reason: string }[] = []
  const judge = async (version: number | 'next', schema: RegisteredSchema) => {
    const reason = await reasonOf(language, schema)
    if (reason !== null) unreadable.push({ version, reason })
  }
  for (const { version, schema } of versions) await judge(version, schema)
  let refused: readonly string[] = []
  if (next !== null) {
    const schema = language.parseFile(next)
    await judge('next', schema)
    refused = await source.refusals(subject, schema, signal)
  }
  const notCompared = versions.length === 0 ? 'the subject is unknown to the registry' : null
  return { ...none, versions: versions.length, unreadable, refused, notCompared }
}

async function reasonOf(language: SchemaLanguage, schema: RegisteredSchema): Promise<string | null> {
  if (schema.type !== language.type) return `it is ${schema.type}, and the contract reads ${language.type}`
  try {
    return await language.unreadable(schema)
  } catch (error) {
    if (error instanceof OncewardError) throw error
    return errorText(error, 300)
  }
}

function hasSubjects(source: SchemaSource): source is SchemaRegistry {
  return 'versions' in source
}
