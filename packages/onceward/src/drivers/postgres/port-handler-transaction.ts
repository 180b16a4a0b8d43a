import type { SqlTransaction } from '../../contract/handler.ts'
import type { Log } from '../../environment.ts'
import type { HandlerTransaction } from '../../ports/handler-transaction.ts'
import type { OpenTransaction } from './port.ts'
import { severalCommands } from './several-commands.ts'
import { StatementWatch } from './statement-watch.ts'

/** A library's transaction as one handler call sees it. */
export class PortHandlerTransaction<Tx> extends StatementWatch implements HandlerTransaction<Tx> {
  readonly tx: Tx
  readonly sql: SqlTransaction

  constructor(open: OpenTransaction<Tx>, log: Log, shared: boolean) {
    super(log, shared)
    this.tx = open.handle(this)
    this.sql = {
      query: (text, values) =>
        this.watch(text, async () => {
          const { rows, rowCount } = await open.query(text, values)
          return { rows, rowCount: rowCount ?? 0 }
        }),
    }
  }

  /**
   * Libraries send a text without values over the simple protocol, where the server would run all of its
   * commands.
   */
  protected override isControl(text: string): boolean {
    return super.isControl(text) || severalCommands(text)
  }
}
