import { deceptive } from '../../message/deceptive.ts'

/**
 * Text from a contract inside a label or an annotation. Prometheus runs these through a template engine and
 * people read them in chats and terminals: braces lose their meaning there, control characters are gone.
 */
export function templateText(text: string): string {
  return plainText(text).replaceAll(/[{}]+/g, braces => `{{ "${braces}" }}`)
}

const runs = new RegExp(`(?:${deceptive.source})+`, 'gu')

/** One line of what can be seen, whole characters only. */
export function plainText(text: string): string {
  return text.toWellFormed().replaceAll(runs, ' ')
}

/** The same as a word of a shell. */
export function shellWord(text: string): string {
  const plain = plainText(text)
  return /^[\w./:@%+=,-]+$/.test(plain) ? plain : `'${plain.replaceAll("'", "'\\''")}'`
}

/** The same text as a string of a template's action, where braces have no meaning. */
export function goString(text: string): string {
  return JSON.stringify(text.toWellFormed())
}
