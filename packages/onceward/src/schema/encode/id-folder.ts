import { createHash } from 'node:crypto'
import { isRecord } from '../../contract/check-values.ts'
import { JsonFolder } from '../json-folder.ts'
import type { RegisteredSchema } from '../registered-schema.ts'
import type { SchemaIds } from '../schema-source.ts'

/** Ids of a producer's schemas on disk, by subject and schema. */
export class IdFolder {
  readonly #folder: JsonFolder

  constructor(folder: string, registry: string) {
    this.#folder = new JsonFolder(folder, registry)
  }

  async read(subject: string, schema: RegisteredSchema): Promise<SchemaIds | null> {
    const value = await this.#folder.read(keyOf(subject, schema))
    return isRecord(value) && typeof value.id === 'number' ? (value as unknown as SchemaIds) : null
  }

  write(subject: string, schema: RegisteredSchema, ids: SchemaIds): Promise<void> {
    return this.#folder.write(keyOf(subject, schema), ids)
  }
}

function keyOf(subject: string, { type, text }: RegisteredSchema): string {
  return `written-${createHash('sha256')
    .update(JSON.stringify([subject, type, text]))
    .digest('hex')}`
}
