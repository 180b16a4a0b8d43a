const separator = '\u001f'

/**
 * Texts as one value: arrays of pg, which check each character of each element for escapes, cost the client 1
 * us a text more. Null if the texts could not be separated again.
 */
export function textList(texts: readonly (string | null)[]): string | null {
  for (const text of texts) if (text === '' || text?.includes(separator)) return null
  return texts.join(separator)
}

/** The same list in SQL, with its nulls. */
export const fromTextList = (parameter: string) => `string_to_array(${parameter}, E'\\x1f', '')`
