import { type createPool, createQueue } from 'onceward/postgres'
import type { DemoSettings } from './settings.ts'

type Pool = ReturnType<typeof createPool>

/** The broker objects of one run: created before the producer starts, counted, and removed at the end. */
export interface BrokerOfRun {
  prepare(): Promise<void>
  /** Messages that wait for delivery. */
  depth(): Promise<number>
  deadLetterCopies(): Promise<number>
  remove(): Promise<void>
}

export async function brokerOfRun(settings: DemoSettings, pool: Pool): Promise<BrokerOfRun> {
  switch (settings.broker) {
    case 'postgres':
      return postgresOfRun(settings, pool)
    case 'rabbitmq':
      return rabbitOfRun(settings)
    case 'kafka':
      return (await import('./kafka-of-run.ts')).kafkaOfRun(settings)
    case 'stream':
      return (await import('./stream-of-run.ts')).streamOfRun(settings)
  }
}

function postgresOfRun({ queue, deadLetters }: DemoSettings, pool: Pool): BrokerOfRun {
  const count = async (name: string) => {
    const { rows } = await pool.query(
      `select count(*)::int as messages from onceward.queue_message message
       join onceward.queue on queue.id = message.queue_id where queue.name = $1`,
      [name],
    )
    return rows[0].messages as number
  }
  return {
    prepare: () => createQueue(pool, queue),
    depth: () => count(queue),
    deadLetterCopies: () => count(deadLetters),
    remove: async () => {},
  }
}

/** Counts and removes through the broker's own client, on a separate connection. */
async function rabbitOfRun({ rabbitmqUrl, queue, deadLetters }: DemoSettings): Promise<BrokerOfRun> {
  const { connect } = await import('amqplib')
  const connection = await connect(rabbitmqUrl!)
  connection.on('error', () => {})
  const channel = await connection.createChannel()
  channel.on('error', () => {})
  const count = async (name: string) => (await channel.checkQueue(name)).messageCount
  return {
    prepare: async () => {},
    depth: () => count(queue),
    deadLetterCopies: () => count(deadLetters),
    async remove() {
      for (const name of [queue, deadLetters]) await channel.deleteQueue(name).catch(() => {})
      await connection.close().catch(() => {})
    },
  }
}
