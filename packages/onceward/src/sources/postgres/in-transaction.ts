import { type SqlClient, type SqlPool, withClient } from '../../stores/postgres/pool.ts'

/** A table locked by somebody's migration is waited for briefly, then tried again. */
export const begin = `begin; set local lock_timeout = '5s'`

/** One short transaction. */
export function inTransaction<T>(pool: SqlPool, work: (client: SqlClient) => Promise<T>): Promise<T> {
  return withClient(pool, async client => {
    await client.query(begin)
    const result = await work(client)
    await client.query('commit')
    return result
  })
}
