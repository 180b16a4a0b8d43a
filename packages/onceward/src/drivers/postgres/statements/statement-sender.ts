import type { SqlClient, SqlResult } from '../pool.ts'
import { type PgCallback, type PgClient, type PgQueryConfig, queryClassOf } from './pg-internals.ts'
import { markStalePlan, type PreparePolicy } from './prepare-policy.ts'
import { PreparedTexts } from './prepared-texts.ts'
import { type RoundStatement, sendRound, transactionAborted, type Wire, wireOf } from './statement-round.ts'
import { factsOf } from './statement-text.ts'

/** Statements with one Sync. The server sends their answers together; more would leave the client idle. */
const roundMax = 64

/**
 * Sends the statements of one transaction on a client of `pg`. Statements that handlers make in the same turn
 * of the event loop leave together, with one Sync. Everything else on the client goes through `query`, which
 * keeps the order.
 */
export class StatementSender implements SqlClient {
  readonly #client: PgClient
  readonly #Query: ReturnType<typeof queryClassOf>
  readonly #policy: PreparePolicy
  readonly #prepared = new PreparedTexts()
  #wire: Wire | null = null
  #round: RoundStatement[] = []
  #failed = false

  constructor(client: SqlClient, policy: PreparePolicy) {
    this.#client = client as PgClient
    this.#Query = queryClassOf(client)
    this.#policy = policy
  }

  /** A statement of Onceward, behind those of the handlers. */
  query(text: string, values?: readonly unknown[]): Promise<SqlResult> {
    this.#flush()
    return this.#client.query(text, values)
  }

  /**
   * A statement of a handler. The extended protocol makes the server reject several commands in one text,
   * including a hidden COMMIT.
   */
  send(config: PgQueryConfig, settle: PgCallback): void {
    if (config.name !== undefined || !this.takes(config.text)) return this.#sendAlone(config, settle)
    const prepared = this.#policy.allows(this.#client) ? this.#prepared.use(config.text) : null
    const prepares = prepared !== null && !prepared.isSent
    if (prepares) prepared.isSent = true
    this.#round.push({ config, settle, prepared, prepares, result: null, unread: null })
    if (this.#round.length === 1) process.nextTick(this.#flush)
    else if (this.#round.length >= roundMax) this.#flush()
  }

  /** Whether statements of this text may leave with others. */
  takes(text: string): boolean {
    return this.#Query !== null && factsOf(text).isPlain
  }

  /** Before a statement that the library sends itself. It may change how other texts are read. */
  passBy(): void {
    this.#flush()
    this.#prepared.forget()
    if (this.#wire !== null) this.#wire.submittedNamedStatements = {}
  }

  /** The last statements before COMMIT or ROLLBACK. The names of the transaction end with it. */
  end(): void {
    this.#flush()
    for (const name of this.#prepared.takeNames()) this.#client.connection.close({ type: 'S', name })
  }

  #sendAlone(config: PgQueryConfig, settle: PgCallback): void {
    this.passBy()
    this.#client.query(config).then(
      result => settle(null, result),
      error => settle(error),
    )
  }

  readonly #flush = (): void => {
    if (this.#round.length === 0) return
    const statements = this.#round
    this.#round = []
    this.#wire ??= wireOf(this.#client.connection)
    sendRound(this.#client, this.#Query!, {
      statements,
      wire: this.#wire,
      failed: (error, unexecuted) => this.#fail(error, unexecuted),
    })
  }

  /**
   * The texts that this round would have prepared are not. Statements already sent by such a name find none;
   * like all others, they are victims of the first error.
   */
  #fail(error: Error, unexecuted: readonly RoundStatement[]): Error {
    for (const { config, prepared, prepares } of unexecuted) {
      if (!prepares) continue
      this.#prepared.lost(config.text)
      delete this.#wire!.submittedNamedStatements[prepared!.name]
    }
    const { code, routine } = error as { code?: string; routine?: string }
    const missing = code === '26000'
    const changed = code === '0A000' && routine === 'RevalidateCachedQuery'
    const shown =
      unexecuted[0]!.prepared !== null && (missing || changed) ? this.#stale(error, missing) : error
    this.#failed = true
    return shown
  }

  #stale(error: Error, missing: boolean): Error {
    if (missing && this.#failed) return transactionAborted()
    this.#policy.lost()
    return markStalePlan(error)
  }
}
