/**
 * Text from a contract inside a label or an annotation. Prometheus runs these through a template engine and people read them in chats and
 * terminals: braces lose their meaning there, control characters are gone.
 */
export function templateText(text: string): string {
  return plainText(text).replaceAll(/[{}]+/g, braces => `{{ "${braces}" }}`)
}

/** One line without control characters, whole characters only. */
export function plainText(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: removing them is the point
  return text.toWellFormed().replaceAll(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, ' ')
}

/** The same as a word of a shell. */
export function shellWord(text: string): string {
  const plain = plainText(text)
  return /^[\w./:@%+=,-]+$/.test(plain) ? plain : `'${plain.replaceAll("'", "'\\''")}'`
}
