import type { RegisteredSchema } from './registered-schema.ts'
import type { SchemaRef } from './schema-ref.ts'

/** Where codecs get the schemas that messages name. Implement it for a registry that is not built in. */
export interface SchemaSource {
  /** For people and for the folder of the cache; without secrets. */
  readonly name: string
  /**
   * Resolves with the schema, or with null if the registry answers that there is none. Rejects while the
   * registry cannot be asked: the consumer then pauses. A `schema_unknown` error parks the message instead.
   */
  find(ref: SchemaRef, signal: AbortSignal): Promise<RegisteredSchema | null>
  /**
   * True if the registry answers now. Asked when one schema failed again and again. Without it, the schema
   * that was found last is asked for again.
   */
  answers?(signal: AbortSignal): Promise<boolean>
}

/** A schema source with subjects: for producers and for the compatibility gate. */
export interface SchemaRegistry extends SchemaSource {
  /** The versions of a subject, oldest first; empty for an unknown subject. */
  versions(subject: string, signal: AbortSignal): Promise<readonly SchemaVersion[]>
  /** The id of a schema that the subject has; null if it does not have it. */
  lookup(subject: string, schema: RegisteredSchema, signal: AbortSignal): Promise<SchemaIds | null>
  /** Adds the schema to the subject if it is new. A `schema_refused` error if the registry refuses it. */
  register(subject: string, schema: RegisteredSchema, signal: AbortSignal): Promise<SchemaIds>
  /** Why the registry would refuse the schema as the next version; empty if it would accept it. */
  refusals(subject: string, schema: RegisteredSchema, signal: AbortSignal): Promise<readonly string[]>
}

/** A version of a subject, with its schema. */
export interface SchemaVersion {
  readonly version: number
  readonly schema: RegisteredSchema
}

/** The ids of schemas, as a registry gives them. */
export interface SchemaIds {
  readonly id: number
  /** Null from registries that have none. */
  readonly guid: string | null
}
