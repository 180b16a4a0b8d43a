import { OncewardError } from '../../errors.ts'
import { type RegisteredSchema, type SchemaType, schemaTypes } from '../registered-schema.ts'
import { refText, type SchemaRef } from '../schema-ref.ts'
import type { SchemaSource } from '../schema-source.ts'
import { AnswerTooLarge, type RegistryAccess, RegistryHttp } from './http-client.ts'

/** Where an Apicurio registry is, and how it is asked. */
export interface ApicurioAccess extends RegistryAccess {
  /** The type of every schema: Apicurio sends the schema alone. Default `AVRO`. */
  readonly type?: SchemaType
}

/**
 * Apicurio's own interface, version 3, for messages with its global and content ids. The address ends before
 * `/apis`. Producers and the compatibility gate use its Confluent interface by `confluentRegistry`.
 */
export function apicurioRegistry({ type = 'AVRO', ...access }: ApicurioAccess): SchemaSource {
  const http = new RegistryHttp(access)
  if (!schemaTypes.includes(type))
    throw new OncewardError(
      'configuration',
      `Schema registry: type must be one of ${schemaTypes.join(', ')}.`,
    )
  return {
    name: http.name,
    async find(ref, signal) {
      const answer = await ask(http, ref, signal)
      if (answer.status === 404 && answer.text.includes('error_code')) return null
      if (answer.status !== 200)
        throw http.unavailable(`it answered ${answer.status}`, undefined, answer.status)
      return { type, text: answer.text, references: [] } satisfies RegisteredSchema
    },
    async answers(signal) {
      return (await http.request('GET', '/apis/registry/v3/system/info', signal)).status === 200
    },
  }
}

async function ask(http: RegistryHttp, ref: SchemaRef, signal: AbortSignal) {
  if (ref.kind !== 'globalId' && ref.kind !== 'contentId')
    throw new OncewardError('configuration', `Registry ${http.name} has no ${ref.kind}: wrong wire format.`)
  try {
    return await http.request('GET', `/apis/registry/v3/ids/${ref.kind}s/${ref.id}`, signal)
  } catch (error) {
    if (!(error instanceof AnswerTooLarge)) throw error
    const text = `schema ${refText(ref)} of ${http.name}: the registry sent ${error.message}`
    throw new OncewardError('schema_unknown', text, { cause: error })
  }
}
