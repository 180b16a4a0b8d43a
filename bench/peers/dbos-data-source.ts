import { AsyncLocalStorage } from 'node:async_hooks'
import { DBOS } from '@dbos-inc/dbos-sdk'
import {
  assertStillOwnsWorkflow,
  migrateDataSourcePG,
  registerDataSource,
  replayRecordedStep,
  runTransaction,
} from '@dbos-inc/dbos-sdk/datasource'
import pg from 'pg'

const found =
  'select output, error from dbos.transaction_completion where workflow_id = $1 and function_num = $2'
const record =
  'insert into dbos.transaction_completion (workflow_id, function_num, output) values ($1, $2, $3)'

/**
 * A data source for node-postgres on the interface that the SDK has for them. The published data sources are
 * for SDK 4 and do not load with SDK 5. Like those it writes the step's checkpoint in the transaction of the
 * effect, and it prepares its statements.
 */
export class PgDataSource {
  readonly name = 'bench'
  readonly #pool: pg.Pool
  readonly #transactions = new AsyncLocalStorage<pg.PoolClient>()

  constructor(connectionString: string, max: number) {
    this.#pool = new pg.Pool({ connectionString, max })
    registerDataSource(this)
  }

  get client(): pg.PoolClient {
    return this.#transactions.getStore()!
  }

  run(work: () => Promise<void>, name: string): Promise<void> {
    return runTransaction(work, name, { dsName: this.name })
  }

  async initialize(): Promise<void> {
    await this.#inTransaction(client => migrateDataSourcePG(async sql => (await client.query(sql)).rows))
  }

  destroy(): Promise<void> {
    return this.#pool.end()
  }

  async invokeTransactionFunction(
    _config: unknown,
    target: unknown,
    work: (...args: unknown[]) => Promise<unknown>,
    ...args: unknown[]
  ): Promise<unknown> {
    const step = [DBOS.workflowID!, DBOS.stepID!]
    const before = await this.#pool.query({ name: 'found', text: found, values: step })
    if (before.rows.length > 0) return replayRecordedStep(before.rows[0])
    return this.#inTransaction(async client => {
      const output = await this.#transactions.run(client, () => work.apply(target, args))
      // The SDK reads the output with superjson.
      const text = JSON.stringify({ json: output ?? null })
      await client.query({ name: 'record', text: record, values: [...step, text] })
      await assertStillOwnsWorkflow(DBOS.workflowID!)
      return output
    })
  }

  async #inTransaction<T>(work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    const client = await this.#pool.connect()
    try {
      await client.query('begin')
      const result = await work(client)
      await client.query('commit')
      return result
    } catch (error) {
      await client.query('rollback')
      throw error
    } finally {
      client.release()
    }
  }
}
