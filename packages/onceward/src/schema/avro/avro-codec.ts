import type { Type } from 'avsc'
import type { Codec } from '../../message/codec.ts'
import type { RegisteredSchema } from '../registered-schema.ts'
import { type RegistryCodecOptions, registryCodec } from '../registry-codec.ts'
import { unusableReader } from '../unusable-reader.ts'
import { compileBounds } from './avro-bounds.ts'
import { parseAvro } from './avro-schema.ts'
import { type AvroTypeOptions, avroType, loadAvsc } from './load-avsc.ts'

/** Options of `avroCodec(...)`. */
export interface AvroCodecOptions extends RegistryCodecOptions, AvroTypeOptions {
  /**
   * The schema the consumer reads, as JSON or its text: Avro's resolution converts what other versions wrote.
   * Default: each message as it was written.
   */
  readonly reader?: string | object
}

/** Reads Avro by the writer's schema from a registry. Uses the package `avsc`. */
export function avroCodec({ reader, longs, logicalTypes, ...options }: AvroCodecOptions): Codec {
  const own = reader === undefined ? null : ownSchema(reader)
  const typeOptions = { ...(longs && { longs }), ...(logicalTypes && { logicalTypes }) }
  const typeOf = async (schema: RegisteredSchema) => avroType(await loadAvsc(), schema, typeOptions)
  const ownType = lazily(async () => (own === null ? null : typeOf(own).catch(unusableReader)))
  const resolved = async (schema: RegisteredSchema) => {
    const written = await typeOf(schema)
    const type = (await ownType()) ?? written
    return { type, resolver: type === written ? undefined : resolverOf(type, written) }
  }
  return registryCodec(
    {
      name: 'avro',
      type: 'AVRO',
      async compile(schema) {
        const { type, resolver } = await resolved(schema)
        const { schema: parsed, named } = parseAvro(schema)
        const assertWithin = compileBounds(parsed, named)
        return ({ payload }, limits) => {
          assertWithin(payload, limits)
          return type.fromBuffer(payload, resolver)
        }
      },
      async recordName() {
        return (await ownType())?.name ?? ''
      },
      async unreadable(schema) {
        await resolved(schema)
        return null
      },
      readsAnything:
        own === null ? 'the codec has no reader schema, so it reads each message as written' : null,
      parseFile: file => ({ type: 'AVRO', text: file.toString('utf8'), references: [] }),
    },
    options,
  )
}

/** avsc looks for the fields of what is none, such as an array that is to be read as a record. */
function resolverOf(type: Type, written: Type): ReturnType<Type['createResolver']> {
  try {
    return type.createResolver(written)
  } catch (error) {
    if (type.typeName === written.typeName) throw error
    throw new TypeError(`it writes ${written.typeName}, and the contract reads ${type.typeName}`, {
      cause: error,
    })
  }
}

export function ownSchema(given: string | object): RegisteredSchema {
  return { type: 'AVRO', text: typeof given === 'string' ? given : JSON.stringify(given), references: [] }
}

/** Once; again after an error. */
export function lazily<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | null = null
  return () => {
    made ??= make().catch(error => {
      made = null
      throw error
    })
    return made
  }
}
