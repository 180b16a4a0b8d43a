import type { InitSource, ProjectAnswers } from './project.ts'

interface Made {
  /** Created beside the table; shown to the user. */
  readonly what: string
  readonly imports: readonly string[]
  readonly code: (name: string) => string
}

const none: Made = { what: 'its table; the consumer creates the queue', imports: [], code: () => '' }
const made: Readonly<Record<InitSource, Made>> = {
  postgres: {
    what: 'its table and its queue',
    imports: [],
    code: name => `await createQueue(pool, '${name}')\n`,
  },
  rabbitmq: none,
  'rabbitmq-stream': {
    what: 'its table and its stream',
    imports: ["import { connect } from 'amqplib'"],
    code: name => `
const broker = await connect(process.env.ONCEWARD_RABBITMQ_URL!)
const channel = await broker.createChannel()
await channel.assertQueue('${name}', { arguments: { 'x-queue-type': 'stream', 'x-max-age': '60D' } })
await broker.close()
`,
  },
  kafka: {
    what: 'its table, its topic and the one for dead letters',
    imports: ["import { ensureTopic } from 'onceward/kafka'"],
    code: name => `
const kafka = { bootstrap: process.env.ONCEWARD_KAFKA_BOOTSTRAP! }
const configs = { 'retention.ms': String(60 * 86_400_000) }
await ensureTopic(kafka, '${name}', { partitions: 3, configs })
await ensureTopic(kafka, '${name}.dead', { partitions: 1 })
`,
  },
}

/** Creates everything the consumer needs at start. */
export function setupText({ name, source }: ProjectAnswers): string {
  const { what, imports, code } = made[source]
  const doors = source === 'postgres' ? 'createPool, createQueue' : 'createPool'
  const text = code(name)
  return `import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
${imports.map(line => `${line}\n`).join('')}import { ${doors} } from 'onceward/postgres'

/** What the consumer needs: ${what}. Safe to repeat. */
const pool = createPool(process.env.ONCEWARD_DATABASE_URL!)
await pool.query(await readFile(join(import.meta.dirname, 'tables.sql'), 'utf8'))
${text.startsWith('\n') ? '' : text}await pool.end()
${text.startsWith('\n') ? text : ''}`
}

const publishers: Partial<Record<InitSource, { from: string; open: string }>> = {
  rabbitmq: {
    from: "import { createRabbitPublisher } from 'onceward/rabbitmq'",
    open: 'createRabbitPublisher({ url: process.env.ONCEWARD_RABBITMQ_URL! })',
  },
  'rabbitmq-stream': {
    from: "import { createRabbitPublisher } from 'onceward/rabbitmq'",
    open: 'createRabbitPublisher({ url: process.env.ONCEWARD_RABBITMQ_URL! })',
  },
  kafka: {
    from: "import { createKafkaPublisher } from 'onceward/kafka'",
    open: 'createKafkaPublisher({ bootstrap: process.env.ONCEWARD_KAFKA_BOOTSTRAP! })',
  },
}

/** A script that publishes sample messages. */
export function sendText({ name, source }: ProjectAnswers): string {
  const publisher = publishers[source]
  const key = source === 'kafka' ? ', key: requestId' : ''
  const [from, sent] =
    publisher === undefined
      ? [
          "import { createPool, publish } from 'onceward/postgres'",
          `const pool = createPool(process.env.ONCEWARD_DATABASE_URL!)
await publish(pool, '${name}', [{ body }, { body }, { body }])
await pool.end()`,
        ]
      : [
          publisher.from,
          `const publisher = ${publisher.open}
const copy = { queue: '${name}', messageId: message.messageId${key}, body: Buffer.from(body) }
const results = await publisher.publish([copy, copy, copy])
await publisher.close()
for (const result of results) if (result !== 'confirmed') throw result`,
        ]
  return `${from}
import type { BookingRequest } from './message.ts'

/**
 * Sends three copies of one request, like a producer that crashes and restarts: node send.ts r-2 1500
 */
const [requestId = 'r-1', amount = '4200'] = process.argv.slice(2)
const message: BookingRequest = { messageId: \`m-\${requestId}\`, requestId, amount: Number(amount) }
const body = JSON.stringify(message)
${sent}
console.log(\`sent \${message.messageId} three times\`)
`
}
