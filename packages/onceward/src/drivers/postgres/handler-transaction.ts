import type { SqlTransaction } from '../../contract/handler.ts'
import type { Log } from '../../environment.ts'
import type { HandlerTransaction } from '../../ports/store.ts'
import type { PooledClient, SqlResult } from './pool.ts'
import { StatementWatch } from './statement-watch.ts'

/** The transaction as one handler call sees it, on a client of `pg`. */
export class ClientTransaction extends StatementWatch implements SqlTransaction {
  readonly #client: PooledClient

  constructor(client: PooledClient, log: Log, shared: boolean) {
    super(log, shared)
    this.#client = client
  }

  get sql(): SqlTransaction {
    return this
  }

  query<Row>(text: string, values?: readonly unknown[]): Promise<{ rows: Row[]; rowCount: number }> {
    return this.watch(text, async () => {
      const { rows, rowCount } = await this.#sendOne({ text }, values)
      return { rows: rows as Row[], rowCount: rowCount ?? 0 }
    })
  }

  /** For a library that builds its statements and reads the whole result. */
  send(statement: { readonly text: string }, values: readonly unknown[]): Promise<SqlResult> {
    return this.watch(statement.text, () => this.#sendOne(statement, values))
  }

  /**
   * Uses the extended protocol, so that the server rejects several commands in one text, including a hidden
   * COMMIT.
   */
  #sendOne(statement: { readonly text: string }, values: readonly unknown[] = []): Promise<SqlResult> {
    return this.#client.query({ ...statement, values: values as unknown[], queryMode: 'extended' })
  }
}

/** The `tx` of handlers with `createPostgresStore`. */
export class SqlHandlerTransaction extends ClientTransaction implements HandlerTransaction<SqlTransaction> {
  get tx(): SqlTransaction {
    return this
  }
}
