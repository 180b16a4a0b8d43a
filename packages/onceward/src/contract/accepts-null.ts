import type { StandardSchemaV1 } from '@standard-schema/spec'

/**
 * True if the schema accepts null, leaves it null, and refuses undefined. The message type then includes
 * null, and a handler expects it. Checked once, when the consumer is defined; an asynchronous schema counts
 * as false.
 */
export function acceptsNull(schema: StandardSchemaV1<unknown, unknown> | undefined): boolean {
  if (schema === undefined) return false
  const given = verdictOn(schema, null)
  return given !== null && given.value === null && verdictOn(schema, undefined) === null
}

/** Null if the schema refuses, throws, or is asynchronous. */
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
