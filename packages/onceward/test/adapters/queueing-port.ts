import type { SqlPort, WatchedStatements } from 'onceward/postgres'
import type pg from 'pg'

export interface QueueingHandle {
  query(text: string, values?: unknown[]): Promise<unknown>
}

/**
 * A library that sends the next statement of a transaction when the last one is answered, and whose rollback
 * bypasses its queue.
 */
export function queueingPort(pool: pg.Pool): SqlPort<QueueingHandle> {
  return {
    dialect: 'postgres',
    query: (text, values) => pool.query(text, values as unknown[]),
    async transaction(isolation, work) {
      const client = await pool.connect()
      let last: Promise<unknown> = Promise.resolve()
      const queued = (text: string, values?: readonly unknown[]) => {
        const answer = last.then(() => client.query(text, values as unknown[]))
        last = answer.catch(() => {})
        return answer
      }
      const handle = (statements: WatchedStatements): QueueingHandle => ({
        query: (text, values) => statements.watch(text, () => queued(text, values)),
      })
      try {
        await client.query(`begin isolation level ${isolation}`)
        const result = await work({ query: queued, handle })
        await client.query('commit')
        client.release()
        return result
      } catch (error) {
        const done = await client.query('rollback').catch((failed: Error) => failed)
        client.release(done instanceof Error)
        throw error
      }
    },
  }
}
