import { hash } from 'node:crypto'

/** Longer texts are not prepared: a generated text of this size hardly ever comes again. */
const preparedTextMax = 10_000

const lead = String.raw`^(?:\s|--.*\n|\/\*[\s\S]*?\*\/)*`
const plain = new RegExp(String.raw`${lead}(?:select|insert|update|delete|merge|with|values)\b`, 'i')
/** These may change how a text is read: which tables it names, and of which types its parameters are. */
const changesReading = /\b(?:search_path|set_config)\b/i

/**
 * True for commands that read and write rows. Others (SET, SAVEPOINT, COPY, DDL) may end an error of the
 * transaction, change the meaning of texts, or speak another protocol: each is sent on its own.
 */
export function isPlain(text: string): boolean {
  return plain.test(text) && !changesReading.test(text)
}

export function isPreparable(text: string): boolean {
  return text.length <= preparedTextMax
}

/**
 * The digest of the text, never a counter: behind a pooler that does not separate its clients, a name may
 * already be in use, and then it stands for the same text.
 */
export function statementName(text: string): string {
  return `onceward_${hash('sha256', text, 'base64url')}`
}
