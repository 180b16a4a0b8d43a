const marked = 'base64:'

/** Converts a key back to bytes. The reader marked keys that are not valid UTF-8. */
export function keyBytes(key: string | null): Buffer | null {
  if (key === null) return null
  return key.startsWith(marked) ? Buffer.from(key.slice(marked.length), 'base64') : Buffer.from(key)
}
