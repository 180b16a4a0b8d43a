const marked = 'base64:'

/** A key's bytes again: those that are no text were marked when they were read. */
export function keyBytes(key: string | null): Buffer | null {
  if (key === null) return null
  return key.startsWith(marked) ? Buffer.from(key.slice(marked.length), 'base64') : Buffer.from(key)
}
