import type { PreparedText } from './statement-round.ts'
import { isPreparable, statementName } from './statement-text.ts'

/** Texts that one transaction counts; beyond them, texts are not repeated enough to matter. */
const textsMax = 1_000
/** Names that one transaction leaves on the server until it ends. */
const namesMax = 64

/**
 * The texts that the handlers of one transaction repeat:
 *
 *   first use ──▶ unnamed   second use ──▶ prepared under a name   later uses ──▶ by that name
 *   the transaction ends, or a command may change how texts are read ──▶ closed
 *
 * Names do not outlive the transaction. Once a statement has run in it, the tables of the statement are
 * locked until its end, so that no other session can change their columns. Across transactions the server
 * would keep the types that the parameters had at first: after `alter column at type timestamptz` it would
 * still read them as `timestamp`, and silently write another time.
 */
export class PreparedTexts {
  readonly #seen = new Map<string, PreparedText | null>()
  readonly #names = new Set<string>()

  /** Null if this use is sent without a name. */
  use(text: string): PreparedText | null {
    const known = this.#seen.get(text)
    if (known) return known
    if (known === undefined) {
      if (this.#seen.size < textsMax && isPreparable(text)) this.#seen.set(text, null)
      return null
    }
    const name = statementName(text)
    if (this.#names.size >= namesMax && !this.#names.has(name)) return null
    const prepared: PreparedText = { name, fields: undefined, isSent: false }
    this.#seen.set(text, prepared)
    this.#names.add(name)
    return prepared
  }

  /** The server may not have it: its next use prepares it again. */
  lost(text: string): void {
    if (this.#seen.get(text)) this.#seen.set(text, null)
  }

  /** The same for all texts. */
  forget(): void {
    this.#seen.clear()
  }

  /** Every name the server may have. */
  takeNames(): readonly string[] {
    const names = [...this.#names]
    this.#names.clear()
    this.#seen.clear()
    return names
  }
}
