import type { SqlTransaction } from '../../contract/handler.ts'
import type { Log } from '../../environment.ts'
import type { HandlerTransaction } from '../../ports/handler-transaction.ts'
import type { SqlResult } from './pool.ts'
import { StatementWatch } from './statement-watch.ts'
import type { PgCallback } from './statements/pg-internals.ts'
import type { StatementSender } from './statements/statement-sender.ts'

/** The transaction as one handler call sees it, on a client of `pg`. */
export class ClientTransaction extends StatementWatch implements SqlTransaction {
  readonly #sender: StatementSender

  constructor(sender: StatementSender, log: Log, shared: boolean) {
    super(log, shared)
    this.#sender = sender
  }

  get sql(): SqlTransaction {
    return this
  }

  query<Row>(text: string, values?: readonly unknown[]): Promise<{ rows: Row[]; rowCount: number }> {
    const send = (settle: PgCallback) =>
      this.#sender.send({ text, values: values ?? [], queryMode: 'extended' }, settle)
    return this.watchAnswer(text, send, rowsOf<Row>)
  }

  /** For a library that builds its statements and reads the whole result. */
  send(statement: { readonly text: string }, values: readonly unknown[]): Promise<SqlResult> {
    const send = (settle: PgCallback) =>
      this.#sender.send({ ...statement, values, queryMode: 'extended' }, settle)
    return this.watchAnswer(statement.text, send, whole)
  }
}

function rowsOf<Row>({ rows, rowCount }: SqlResult): { rows: Row[]; rowCount: number } {
  return { rows: rows as Row[], rowCount: rowCount ?? 0 }
}

const whole = (result: SqlResult) => result

/** The `tx` of handlers with `createPostgresStore`. */
export class SqlHandlerTransaction extends ClientTransaction implements HandlerTransaction<SqlTransaction> {
  get tx(): SqlTransaction {
    return this
  }
}
