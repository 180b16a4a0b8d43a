import type { SqlTransaction } from '../../contract/handler.ts'
import type { Log } from '../../environment.ts'
import type { HandlerTransaction } from '../../ports/store.ts'
import type { SqlResult } from './pool.ts'
import { StatementWatch } from './statement-watch.ts'
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
    return this.watchAnswer(text, answered =>
      this.#sender.send({ text, values: values ?? [], queryMode: 'extended' }, (error, result) =>
        error === null
          ? answered(null, { rows: result!.rows as Row[], rowCount: result!.rowCount ?? 0 })
          : answered(error),
      ),
    )
  }

  /** For a library that builds its statements and reads the whole result. */
  send(statement: { readonly text: string }, values: readonly unknown[]): Promise<SqlResult> {
    return this.watchAnswer(statement.text, answered =>
      this.#sender.send({ ...statement, values, queryMode: 'extended' }, answered),
    )
  }
}

/** The `tx` of handlers with `createPostgresStore`. */
export class SqlHandlerTransaction extends ClientTransaction implements HandlerTransaction<SqlTransaction> {
  get tx(): SqlTransaction {
    return this
  }
}
