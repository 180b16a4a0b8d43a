import { isRecord } from '../contract/check-values.ts'
import { JsonFolder } from './json-folder.ts'
import { type RegisteredSchema, schemaTypes } from './registered-schema.ts'
import { refText, type SchemaRef } from './schema-ref.ts'

/** Schemas on disk, so that a restart does not need the registry. */
export class SchemaFolder {
  readonly #folder: JsonFolder

  constructor(folder: string, registry: string) {
    this.#folder = new JsonFolder(folder, registry)
  }

  async read(ref: SchemaRef): Promise<RegisteredSchema | null> {
    const value = await this.#folder.read(refText(ref))
    return isSchema(value) ? value : null
  }

  write(ref: SchemaRef, schema: RegisteredSchema): Promise<void> {
    return this.#folder.write(refText(ref), schema)
  }
}

function isSchema(value: unknown): value is RegisteredSchema {
  if (!isRecord(value) || typeof value.text !== 'string' || !Array.isArray(value.references)) return false
  return schemaTypes.some(type => type === value.type)
}
