import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { OncewardError } from '../index.ts'
import { createQueue } from '../sources/postgres/index.ts'
import type { createPool } from '../stores/postgres/index.ts'
import type { DemoBroker, DemoSettings } from './settings.ts'

type Pool = ReturnType<typeof createPool>

/** The broker of one run: made before the producer starts, asked for what is left, removed at the end. */
export interface BrokerOfRun {
  prepare(): Promise<void>
  /** Messages that wait to be taken. */
  depth(): Promise<number>
  deadLetterCopies(): Promise<number>
  remove(): Promise<void>
}

export async function brokerOfRun(settings: DemoSettings, pool: Pool): Promise<BrokerOfRun> {
  return settings.broker === 'rabbitmq' ? rabbitOfRun(settings) : postgresOfRun(settings, pool)
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

/** Counts and removes through the broker's own client, on a connection of its own. */
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

/** RabbitMQ from the environment, or in a checkout of the repository from its own services. */
export async function findRabbitmq(broker: DemoBroker, say: (line: string) => void): Promise<string | null> {
  if (broker !== 'rabbitmq') return null
  if (process.env.ONCEWARD_RABBITMQ_URL) return process.env.ONCEWARD_RABBITMQ_URL
  const services = new URL('../../../../scripts/services/services.ts', import.meta.url)
  const found = existsSync(fileURLToPath(services))
    ? await startService(services, say)
    : 'no address is known'
  if (found.startsWith('amqp')) return found
  throw new OncewardError(
    'configuration',
    `The demo needs RabbitMQ, but ${found}. Set ONCEWARD_RABBITMQ_URL (amqp://user:password@host:5672), or leave out --broker to use the embedded one. Nothing was started.`,
  )
}

async function startService(services: URL, say: (line: string) => void): Promise<string> {
  const { ensureServices } = (await import(services.href)) as {
    ensureServices(names: string[], options: object): Promise<{ url?: string; unavailable?: string }[]>
  }
  const [rabbitmq] = await ensureServices(['rabbitmq'], { log: say })
  return rabbitmq?.url ?? `it cannot be started here: ${rabbitmq?.unavailable}`
}
