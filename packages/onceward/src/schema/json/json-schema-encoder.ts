import type { MessageEncoder } from '../../contract/publish-target.ts'
import { exactJson } from '../../message/exact-json.ts'
import { type RegistryEncoderOptions, registryEncoder } from '../encode/registry-encoder.ts'
import { jsonSchemaOf, titleOf } from './json-schema-codec.ts'
import { jsonValidator } from './load-ajv.ts'

/** Options of an encoder for JSON with a registered schema. */
export interface JsonSchemaEncoderOptions extends RegistryEncoderOptions {
  /** The schema of every message, as JSON or its text. */
  readonly schema: string | object
}

/** Writes JSON that is valid by one schema. Uses the package `ajv`. */
export function jsonSchemaEncoder({ schema, ...options }: JsonSchemaEncoderOptions): MessageEncoder {
  const own = jsonSchemaOf(schema)
  const prepare = async () => {
    const problemOf = await jsonValidator(own)
    const write = (body: unknown) => {
      const problem = problemOf(body)
      if (problem !== null) throw new TypeError(`not valid by its JSON Schema: ${problem}`)
      const text = exactJson(body)
      if (text === undefined) throw new TypeError(`a body of ${typeof body} cannot be written as JSON`)
      return Buffer.from(text)
    }
    return { recordName: titleOf(own), indexes: null, write }
  }
  return registryEncoder('json schema', 'application/json', own, prepare, options)
}
