import type { StandardSchemaV1 } from '@standard-schema/spec'

/**
 * True when the schema takes null and leaves it null: then the type of its messages has null in it, and a handler that gets one is not deceived.
 * Asked once, when the consumer is defined. A schema that answers later is not waited for.
 */
export function acceptsNull(schema: StandardSchemaV1<unknown, unknown> | undefined): boolean {
  if (schema === undefined) return false
  try {
    const result = schema['~standard'].validate(null)
    if (result instanceof Promise) {
      result.catch(() => {})
      return false
    }
    return result.issues === undefined && result.value === null
  } catch {
    return false
  }
}
