import { deceptive } from '../../message/deceptive.ts'

/**
 * Text from a contract inside a label or an annotation. Prometheus expands templates in them, and people read
 * them in chats and terminals. Braces are quoted, and control characters are removed.
 */
export function templateText(text: string): string {
  return plainText(text).replaceAll(/[{}]+/g, braces => `{{ "${braces}" }}`)
}

const runs = new RegExp(`(?:${deceptive.source})+`, 'gu')

/** One line of visible, well-formed characters. */
export function plainText(text: string): string {
  return text.toWellFormed().replaceAll(runs, ' ')
}

/** The same as a word for a shell. */
export function shellWord(text: string): string {
  const plain = plainText(text)
  return /^[\w./:@%+=,-]+$/.test(plain) ? plain : `'${plain.replaceAll("'", "'\\''")}'`
}

/** The same text as a string inside a template action, where braces have no meaning. */
export function goString(text: string): string {
  return JSON.stringify(text.toWellFormed())
}
