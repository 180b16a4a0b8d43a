import { hash } from 'node:crypto'

/** Longer texts are not prepared: a generated text of this size hardly ever comes again. */
const preparedTextMax = 10_000

/** Texts whose facts are remembered, and their greatest length. */
const knownMax = 1_000
const knownTextMax = 1_000

const lead = String.raw`^(?:\s|--.*\n|\/\*[\s\S]*?\*\/)*`
const plain = new RegExp(String.raw`${lead}(?:select|insert|update|delete|merge|with|values)\b`, 'i')
/** These may change how a text is read: which tables it names, and of which types its parameters are. */
const changesReading = /\b(?:search_path|set_config)\b/i

const controlLead = String.raw`^(?:\s|;|--.*\n|\/\*[\s\S]*?\*\/)*`
const transactionControl = new RegExp(
  String.raw`${controlLead}(?:begin|start\s+transaction|commit|end|rollback(?!\s+(?:work\s+|transaction\s+)?to\b)|abort|prepare\s+transaction)\b`,
  'i',
)
const savepointControl = new RegExp(String.raw`${controlLead}(?:savepoint|release|rollback)\b`, 'i')

export interface TextFacts {
  /**
   * It reads and writes rows. Other commands (SET, SAVEPOINT, COPY, DDL) may end an error of the transaction,
   * change the meaning of texts, or speak another protocol: each is sent on its own.
   */
  readonly isPlain: boolean
  /** It would end or replace the transaction. */
  readonly endsTransaction: boolean
  /** With several handlers on one transaction, a rollback to a savepoint would undo writes of the others. */
  readonly setsSavepoint: boolean
}

const known = new Map<string, TextFacts>()

/** Remembered: handlers send the same few texts once for each message. */
export function factsOf(text: string): TextFacts {
  let facts = known.get(text)
  if (facts !== undefined) return facts
  facts = {
    isPlain: plain.test(text) && !changesReading.test(text),
    endsTransaction: transactionControl.test(text),
    setsSavepoint: savepointControl.test(text),
  }
  if (text.length > knownTextMax) return facts
  if (known.size >= knownMax) known.clear()
  known.set(text, facts)
  return facts
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
