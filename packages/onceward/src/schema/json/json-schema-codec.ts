import { type Codec, jsonCodec } from '../../message/codec.ts'
import type { RegisteredSchema } from '../registered-schema.ts'
import { type RegistryCodecOptions, registryCodec } from '../registry-codec.ts'
import { unusableReader } from '../unusable-reader.ts'
import { whyInvalid } from './compare-json-schemas.ts'
import { jsonValidator } from './load-ajv.ts'

/** Options of a codec for JSON with a registered schema. */
export interface JsonSchemaCodecOptions extends RegistryCodecOptions {
  /** The schema the consumer reads, as JSON or its text. Default: the writer's. */
  readonly reader?: string | object
  /**
   * Default true: a message must be valid by the reader's schema, or by its writer's if there is none. False
   * leaves this to `message.schema`; no schema of the registry is then compiled.
   */
  readonly validate?: boolean
}

/** Reads JSON with a schema in a registry. Uses the package `ajv`. */
export function jsonSchemaCodec({ reader, validate = true, ...options }: JsonSchemaCodecOptions): Codec {
  const own = reader === undefined ? null : jsonSchemaOf(reader)
  return registryCodec(
    {
      name: 'json schema',
      type: 'JSON',
      async compile(schema) {
        const problemOf = !validate
          ? () => null
          : own === null
            ? await jsonValidator(schema)
            : await jsonValidator(own).catch(unusableReader)
        return ({ payload }, limits) => {
          const value = jsonCodec.decode(payload, limits, noDelivery)
          const problem = problemOf(value)
          if (problem !== null) throw new TypeError(`not valid by its JSON Schema: ${problem}`)
          return value
        }
      },
      recordName: async () => titleOf(own),
      unreadable: async schema => whyInvalid(JSON.parse(own!.text), JSON.parse(schema.text)),
      readsAnything:
        own === null ? 'the codec has no reader schema, so it reads each message as written' : null,
      parseFile: file => ({ type: 'JSON', text: file.toString('utf8'), references: [] }),
    },
    options,
  )
}

/** JSON does not depend on the delivery. */
const noDelivery = { headers: {}, properties: {}, key: null }

export function jsonSchemaOf(given: string | object): RegisteredSchema {
  return { type: 'JSON', text: typeof given === 'string' ? given : JSON.stringify(given), references: [] }
}

export function titleOf(schema: RegisteredSchema | null): string {
  const title = schema === null ? undefined : (JSON.parse(schema.text) as { title?: unknown }).title
  return typeof title === 'string' ? title : ''
}
