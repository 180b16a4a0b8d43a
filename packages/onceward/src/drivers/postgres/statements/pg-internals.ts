import type { SqlClient, SqlResult } from '../pool.ts'

/** What `pg` calls on the query in progress. It takes queries of its own class as they are. */
export interface PgQuery {
  text: string
  values: readonly unknown[]
  name: string | undefined
  types: unknown
  binary?: boolean
  callback: PgCallback
  readonly _result: PgResult
  submit(connection: PgConnection): Error | null
  handleRowDescription(message: RowDescription): void
  handleDataRow(message: DataRow): void
  handleCommandComplete(message: object, connection: PgConnection): void
  handleEmptyQuery(connection: PgConnection): void
  handleReadyForQuery(connection: PgConnection): void
  handleError(error: Error, connection: PgConnection): void
}

export interface PgResult extends SqlResult {
  _types?: unknown
  addFields(fields: readonly unknown[]): void
  parseRow(fields: readonly unknown[]): unknown
  addRow(row: unknown): void
  addCommandComplete(message: object): void
}

export interface DataRow {
  readonly fields: readonly unknown[]
}

export type PgCallback = (error: Error | null, result?: SqlResult) => void

export interface RowDescription {
  readonly fields: readonly unknown[]
}

export interface PgQueryConfig {
  readonly text: string
  readonly values: readonly unknown[]
  readonly queryMode: 'extended'
  readonly name?: string | undefined
  readonly rowMode?: string | undefined
  readonly types?: unknown
}

export type PgQueryClass = new (config: { text: string; queryMode: 'extended' }) => PgQuery

export interface PgConnection {
  readonly stream: {
    readonly writable: boolean
    write(bytes: Buffer): boolean
    cork(): void
    uncork(): void
  }
  readonly parsedStatements: Record<string, string>
  submittedNamedStatements: Record<string, string>
  describe(of: { type: 'P' | 'S'; name: string }): void
  close(of: { type: 'P' | 'S'; name: string }): void
  sync(): void
}

export interface PgClient extends SqlClient {
  readonly connection: PgConnection
  readonly processID: number | null
  query(text: string, values?: readonly unknown[]): Promise<SqlResult>
  query(config: PgQueryConfig): Promise<SqlResult>
  query(submitted: PgQuery): unknown
}

/** The query class of the copy of `pg` that made the client; null for a client of another library. */
export function queryClassOf(client: object): PgQueryClass | null {
  const { Query } = client.constructor as { Query?: PgQueryClass }
  const { connection } = client as Partial<PgClient>
  if (typeof Query !== 'function' || connection === undefined) return null
  const parts = ['submit', 'handleCommandComplete', 'handleEmptyQuery', 'handleReadyForQuery'] as const
  const known = parts.every(name => typeof Query.prototype[name] === 'function')
  return known && typeof connection.close === 'function' ? Query : null
}
