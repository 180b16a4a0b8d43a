import { createQueue } from 'onceward/postgres'
import pg from 'pg'
import { type ChaosBroker, idIn, noBroker } from './broker.ts'

/** Queues in the database itself: what hurts the database hurts them. */
export function databaseBroker(url: string): ChaosBroker {
  const ask = async (sql: string, values: unknown[] = []) => {
    const client = new pg.Client(url)
    await client.connect()
    try {
      return (await client.query(sql, values)).rows
    } finally {
      await client.end()
    }
  }
  const refused = () => Promise.reject(new Error('the queue is in the database'))
  return {
    inside: noBroker,
    outside: noBroker,
    link: null,
    async prepare({ source, output, deadLetters }) {
      const pool = new pg.Pool({ connectionString: url, max: 1 })
      for (const name of [source, output, deadLetters]) await createQueue(pool as never, name)
      await pool.end()
    },
    kill: refused,
    freeze: refused,
    async copies(name) {
      const rows = await ask(
        `select message_id as id, m.body from onceward.queue_message m
         join onceward.queue q on q.id = m.queue_id where q.name = $1`,
        [name],
      )
      return rows.map(({ id, body }) => ({ id, of: idIn(body) }))
    },
    async depth({ source }) {
      const [row] = await ask(
        `select count(*)::int as messages from onceward.queue_message m
         join onceward.queue q on q.id = m.queue_id where q.name = $1`,
        [source],
      )
      return row.messages as number
    },
    logFiles: () => [],
    close: async () => {},
  }
}
