/**
 * An array of whole numbers as the server reads it: the client would look at each for characters to escape,
 * half a microsecond a number.
 */
export function intArray(values: readonly (number | string)[]): string {
  return `{${values.join(',')}}`
}
