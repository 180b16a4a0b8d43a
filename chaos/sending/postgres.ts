import pg from 'pg'
import type { Sender } from './sender.ts'

/** Inserts into the documented table of the queue, in one transaction for each call. */
export async function postgresSender(url: string, queue: string): Promise<Sender> {
  let client: pg.Client | null = null
  const connected = async () => {
    if (client !== null) return client
    const opened = new pg.Client({
      connectionString: url,
      connectionTimeoutMillis: 5_000,
      query_timeout: 20_000,
    })
    opened.on('error', () => {
      client = null
    })
    await opened.connect()
    client = opened
    return opened
  }
  return {
    async send(messages) {
      try {
        const open = await connected()
        await open.query('begin')
        for (const { key, body } of messages)
          await open.query(
            `insert into onceward.queue_message (queue_id, key, body)
             select id, $2, decode($3, 'base64') from onceward.queue where name = $1`,
            [queue, key, body],
          )
        await open.query('commit')
      } catch (error) {
        client?.end().catch(() => {})
        client = null
        throw error
      }
    },
    abort: () => Promise.resolve(),
    close: async () => {
      await client?.end().catch(() => {})
    },
  }
}
