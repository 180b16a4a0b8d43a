import { DrizzleQueryError } from 'drizzle-orm'
import {
  type NodePgClient,
  type NodePgDatabase,
  NodePgSession,
  NodePgTransaction,
} from 'drizzle-orm/node-postgres'
import type { Log } from '../../../environment.ts'
import { OncewardError } from '../../../errors.ts'
import type { HandlerTransaction } from '../../../ports/handler-transaction.ts'
import { ClientTransaction } from '../handler-transaction.ts'
import type { SqlPool } from '../pool.ts'
import type { StatementSender } from '../statements/statement-sender.ts'
import { createPooledStore } from '../store.ts'
import type { ClosableStore, TransactionOptions } from '../transaction-options.ts'

type Schema = Record<string, unknown>

/** The callback parameter of `db.transaction`. */
export type DrizzleTransaction<S extends Schema> = Parameters<
  Parameters<NodePgDatabase<S>['transaction']>[0]
>[0]

/**
 * A store on the pool of Drizzle: handlers get a transaction of Drizzle. The store sends BEGIN and COMMIT:
 * Drizzle 0.45 never releases a client whose BEGIN failed, and reports the failure of a ROLLBACK instead of
 * its cause.
 */
export function createDrizzleStore<S extends Schema>(
  db: NodePgDatabase<S> & { readonly $client: unknown },
  options: TransactionOptions = {},
): ClosableStore<DrizzleTransaction<S>> {
  const pool = db.$client
  if (!isPool(pool)) {
    throw new OncewardError(
      'configuration',
      'createDrizzleStore needs drizzle-orm/node-postgres on a pool of `pg`: drizzle({ client: pool }). A single client cannot carry two batches. Nothing was started.',
    )
  }
  const store = createPooledStore(pool, options, (...of) => new DrizzleHandlerTransaction(db, ...of))
  const unwrap = (error: unknown) => (error instanceof DrizzleQueryError ? error.cause : error)
  return {
    ...store,
    sql: { query: store.sql!.query, unwrap },
    close: () => pool.end(),
  }
}

function isPool(client: unknown): client is SqlPool {
  const pool = client as { connect?: unknown; totalCount?: unknown } | null | undefined
  return typeof pool?.connect === 'function' && typeof pool.totalCount === 'number'
}

/** Undeclared properties of a Drizzle database and its session. */
interface Inside {
  readonly dialect: ConstructorParameters<typeof NodePgSession>[1]
  readonly session: {
    readonly schema: ConstructorParameters<typeof NodePgSession>[2]
    readonly options: ConstructorParameters<typeof NodePgSession>[3]
  }
}

class DrizzleHandlerTransaction<S extends Schema>
  extends ClientTransaction
  implements HandlerTransaction<DrizzleTransaction<S>>
{
  readonly tx: DrizzleTransaction<S>

  constructor(db: NodePgDatabase<S>, sender: StatementSender, log: Log, shared: boolean) {
    super(sender, log, shared)
    const { dialect, session } = db as unknown as Inside
    const watched: unknown = {
      query: (statement: { readonly text: string }, values: unknown[]) => this.send(statement, values),
    }
    const own = new NodePgSession(watched as NodePgClient, dialect, session.schema, session.options)
    this.tx = new NodePgTransaction(dialect, own, session.schema) as unknown as DrizzleTransaction<S>
  }
}
