import { createPool, createQueue, postgresQueue, publish } from 'onceward/postgres'
import type { TestBroker } from '../brokers.ts'

export async function postgresBroker(name: string, url: string): Promise<TestBroker> {
  const pool = createPool(url, { max: 2 })
  const deadLetter = `${name}.dead`
  await createQueue(pool, name)
  await createQueue(pool, deadLetter)
  const messagesOf = async (queueName: string) => {
    const { rows } = await pool.query(
      `select message_id from onceward.queue_message join onceward.queue on queue.id = queue_id where name = $1`,
      [queueName],
    )
    return rows.map(row => row.message_id as string)
  }
  return {
    declaration: postgresQueue(name, { leaseMs: 1_500 }),
    deadLetter,
    target: { broker: 'postgres', queue: `${name}.out` },
    published: () => messagesOf(`${name}.out`),
    log: null,
    publish: async messages =>
      void (await publish(
        pool,
        name,
        messages.map(({ body }) => ({ body })),
      )),
    depth: async () => (await messagesOf(name)).length,
    deadLetters: () => messagesOf(deadLetter),
    close: () => pool.end(),
  }
}
