import type { MessageEncoder } from '../../contract/publish-target.ts'
import { type RegistryEncoderOptions, registryEncoder } from '../encode/registry-encoder.ts'
import { ownSchema } from './avro-codec.ts'
import { type AvroTypeOptions, avroType, loadAvsc } from './load-avsc.ts'

/** Options of an Avro encoder. */
export interface AvroEncoderOptions extends RegistryEncoderOptions, AvroTypeOptions {
  /** The schema of every message, as JSON or its text. */
  readonly schema: string | object
}

/** Writes Avro by one schema. Uses the package `avsc`. */
export function avroEncoder({ schema, longs, logicalTypes, ...options }: AvroEncoderOptions): MessageEncoder {
  const own = ownSchema(schema)
  const prepare = async () => {
    const type = avroType(await loadAvsc(), own, {
      ...(longs && { longs }),
      ...(logicalTypes && { logicalTypes }),
    })
    const write = (body: unknown) => {
      type.isValid(body, {
        errorHook(path, value, expected) {
          const field = path.length === 0 ? 'the body' : path.join('.')
          throw new TypeError(`${field} is ${typeof value}, and the Avro schema has ${String(expected)}`)
        },
      })
      return type.toBuffer(body)
    }
    return { recordName: type.name ?? '', indexes: null, write }
  }
  return registryEncoder('avro', 'application/vnd.apache.avro', own, prepare, options)
}
