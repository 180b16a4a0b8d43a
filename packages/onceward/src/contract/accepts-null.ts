import type { StandardSchemaV1 } from '@standard-schema/spec'

/**
 * True when the schema takes null, leaves it null, and does not take just anything: then the type of its
 * messages names null, and a handler that gets one is not deceived. Asked once, when the consumer is defined.
 * A schema that answers later is not waited for.
 */
export function acceptsNull(schema: StandardSchemaV1<unknown, unknown> | undefined): boolean {
  if (schema === undefined) return false
  const given = verdictOn(schema, null)
  return given !== null && given.value === null && verdictOn(schema, undefined) === null
}

/** Null where it refuses, throws, or answers later. */
function verdictOn(
  schema: StandardSchemaV1<unknown, unknown>,
  value: unknown,
): StandardSchemaV1.SuccessResult<unknown> | null {
  try {
    const result = schema['~standard'].validate(value)
    if (!(result instanceof Promise)) return result.issues === undefined ? result : null
    result.catch(() => {})
    return null
  } catch {
    return null
  }
}
