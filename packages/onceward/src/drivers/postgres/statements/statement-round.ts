import type { SqlResult } from '../pool.ts'
import type {
  DataRow,
  PgCallback,
  PgClient,
  PgConnection,
  PgQuery,
  PgQueryClass,
  PgQueryConfig,
  PgResult,
  RowDescription,
} from './pg-internals.ts'

/** A statement of a handler, and what its transaction knows about its text. */
export interface RoundStatement {
  readonly config: PgQueryConfig
  readonly settle: PgCallback
  /** Set if the text is sent by a name. */
  readonly prepared: PreparedText | null
  /** It is the one that prepares its text. */
  readonly prepares: boolean
  /** Null until it is written. */
  result: PgResult | null
  /** A row that could not be read. */
  unread: Error | null
}

export interface PreparedText {
  readonly name: string
  /** What the server answered to Describe; null if the command returns no rows, undefined if not known. */
  fields: readonly unknown[] | null | undefined
  /** A statement that prepares it was made. */
  isSent: boolean
}

export interface Round {
  readonly statements: readonly RoundStatement[]
  /** The connection as the statements of one transaction write to it. */
  readonly wire: Wire
  /** Called with the first error of the server, and the statements that it did not execute. */
  failed(error: Error, unexecuted: readonly RoundStatement[]): Error
}

/** Collects what statements write, so that a round is one write. */
export interface Wire extends PgConnection {
  /** Set before a statement writes: its result is described already. */
  described: boolean
  /** Ends a name that may be in use. */
  free(name: string): void
  /** What was written, with a Sync behind it. */
  take(): Buffer
}

/** The connection of `pg` for one transaction: names of its statements are its own, and it sends no Sync. */
export function wireOf(connection: PgConnection): Wire {
  let chunks: Buffer[] = []
  const stream = {
    writable: true,
    write(bytes: Buffer) {
      chunks.push(bytes)
      return true
    },
    cork() {},
    uncork() {},
  }
  const own = {
    stream,
    parsedStatements: {},
    submittedNamedStatements: {} as Record<string, string>,
    described: false,
    sync() {},
    // `pg` closes the name of a statement whose values it cannot write; others use the name as well.
    close() {},
    free(name: string) {
      connection.close.call(wire, { type: 'S', name })
    },
    describe(of: { type: 'P' | 'S'; name: string }) {
      if (!wire.described) connection.describe.call(wire, of)
    },
    take() {
      connection.sync.call(wire)
      const bytes = Buffer.concat(chunks)
      chunks = []
      return bytes
    },
  }
  const wire: Wire = Object.assign(Object.create(connection), own)
  return wire
}

type RoundClass = new (round: Round) => PgQuery
const classes = new WeakMap<PgQueryClass, RoundClass>()

/** Sends several statements with one Sync. */
export function sendRound(client: PgClient, Query: PgQueryClass, round: Round): void {
  let StatementRound = classes.get(Query)
  if (StatementRound === undefined) {
    StatementRound = roundClass(Query)
    classes.set(Query, StatementRound)
  }
  void client.query(new StatementRound(round))
}

/**
 * A query of `pg` that stands for several statements. Each is answered as soon as the server has executed it.
 * After an error the server skips the others, as it would refuse them in the aborted transaction.
 *
 * Rejected: a Sync for each statement. The server then sends each answer by itself.
 */
function roundClass(Query: PgQueryClass): RoundClass {
  return class StatementRound extends Query {
    readonly #round: Round
    readonly #sent: RoundStatement[] = []
    #at = 0
    #isSubmitted = false

    constructor(round: Round) {
      super({ text: '', queryMode: 'extended' })
      this.callback = () => {}
      this.#round = round
    }

    override submit(connection: PgConnection): null {
      const { wire, statements } = this.#round
      this.#isSubmitted = true
      const writer = new Query({ text: '', queryMode: 'extended' })
      if (this.binary !== undefined) writer.binary = this.binary
      for (const statement of statements) this.#write(statement, wire, writer)
      connection.stream.write(wire.take())
      return null
    }

    /** One query of `pg` writes all statements: values and names are its own matter. */
    #write(statement: RoundStatement, wire: Wire, writer: PgQuery): void {
      const { config, settle, prepared, prepares } = statement
      let refused: Error | null = null
      writer.text = config.text
      writer.values = config.values
      writer.name = prepared?.name
      writer.types = config.types
      writer.callback = error => {
        refused = error
      }
      wire.described = prepared?.fields !== undefined
      // The name may be in use on a server connection that a pooler shares.
      if (prepares) wire.free(prepared!.name)
      refused = writer.submit(wire) ?? refused
      if (refused !== null) return settle(refused)
      const result = this.#result(config)
      if (prepared?.fields) result.addFields(prepared.fields)
      statement.result = result
      this.#sent.push(statement)
    }

    #result({ rowMode, types }: PgQueryConfig): PgResult {
      const { constructor: Result, _types } = this._result
      return new (Result as unknown as new (mode: unknown, types: unknown) => PgResult)(
        rowMode,
        types ?? _types,
      )
    }

    override handleRowDescription({ fields }: RowDescription): void {
      const { result, prepared } = this.#sent[this.#at]!
      if (prepared !== null) prepared.fields = fields
      result!.addFields(fields)
    }

    override handleDataRow({ fields }: DataRow): void {
      const statement = this.#sent[this.#at]!
      const result = statement.result!
      try {
        if (statement.unread === null) result.addRow(result.parseRow(fields))
      } catch (error) {
        statement.unread = error as Error
      }
    }

    override handleCommandComplete(message: object): void {
      const { prepared, settle, result, unread } = this.#sent[this.#at++]!
      if (prepared !== null) prepared.fields ??= null
      result!.addCommandComplete(message)
      if (unread === null) settle(null, result!)
      else settle(unread)
    }

    override handleEmptyQuery(): void {
      const { settle, result } = this.#sent[this.#at++]!
      settle(null, result!)
    }

    /** Also called without `submit`, when the connection ended before. */
    override handleError(error: Error): void {
      const open = this.#isSubmitted ? this.#sent.slice(this.#at) : this.#round.statements
      this.#isSubmitted = true
      this.#at = this.#sent.length
      this.callback(error)
      if (open.length === 0) return
      const shown = this.#round.failed(error, open)
      const rest = isOfServer(error) ? transactionAborted : () => error
      for (const [index, { settle }] of open.entries()) settle(index === 0 ? shown : rest())
    }

    override handleReadyForQuery(): void {
      if (this.#at < this.#sent.length)
        return this.handleError(new Error('The server answered fewer statements than were sent.'))
      this.callback(null, undefined as unknown as SqlResult)
    }
  }
}

const isOfServer = (error: Error) =>
  typeof (error as { code?: unknown }).code === 'string' && 'severity' in error

/** What the server answers to a statement in an aborted transaction. */
export function transactionAborted(): Error {
  return Object.assign(
    new Error('current transaction is aborted, commands ignored until end of transaction block'),
    { code: '25P02', severity: 'ERROR' },
  )
}
