import { ormTexts } from './orm-text.ts'
import type { InitSource, ProjectAnswers } from './project.ts'

const sources: Readonly<Record<InitSource, { from: string; made: (name: string) => string }>> = {
  postgres: {
    from: "import { postgresQueue } from 'onceward/postgres'",
    made: name => `postgresQueue('${name}')`,
  },
  rabbitmq: { from: "import { queue } from 'onceward/rabbitmq'", made: name => `queue('${name}')` },
  'rabbitmq-stream': {
    from: "import { stream } from 'onceward/rabbitmq-stream'",
    made: name => `stream('${name}', { start: 'first' })`,
  },
  kafka: {
    from: "import { topic } from 'onceward/kafka'",
    made: name => `topic('${name}', { start: 'earliest' })`,
  },
}

/** The parts of the contract that are code: source, identity and effect. */
export function consumerText({ name, source, orm = 'none' }: ProjectAnswers): string {
  const { from, made } = sources[source]
  const { imports, store, transaction, insert } = ormTexts[orm]
  const table = `${name}_booked`
  const own = store(table)
  const lines = [...imports, "import { consumerParts } from 'onceward'", from]
  const types = transaction === null ? '' : `<BookingRequest, ${transaction}>`
  return `${lines.sort((a, b) => (moduleOf(a) < moduleOf(b) ? -1 : 1)).join('\n')}
import { ${transaction === null ? '' : 'type BookingRequest, '}request } from './message.ts'

${own === '' ? '' : `${own}\n`}/** Owner, risk, retries and objectives are in onceward.yaml. */
export default consumerParts${types}({
  name: '${name}',
  source: ${made(name)},
  message: request,
  identity: {
    id: m => m.messageId,
    businessKey: m => m.requestId,
    businessDigest: m => m.amount,
  },
  async handle({ message, tx }) {
    ${insert(table)}
  },
})
`
}

function moduleOf(line: string): string {
  return /from '(.*)'/.exec(line)![1]!
}

/** A handwritten Standard Schema, so that a new project needs no library for it. */
export function messageText({ name }: ProjectAnswers): string {
  return `/** One request. A resent message has the same messageId, and a repeated request the same requestId. */
export interface BookingRequest {
  readonly messageId: string
  readonly requestId: string
  /** In minor units. */
  readonly amount: number
}

/**
 * Other messages are dead-lettered before the handler runs. A schema of Zod, Valibot or ArkType works too.
 */
export const request = {
  '~standard': {
    version: 1 as const,
    vendor: '${name}',
    validate(value: unknown): { value: BookingRequest } | { issues: { message: string }[] } {
      const { messageId, requestId, amount } = (value ?? {}) as Partial<Record<keyof BookingRequest, unknown>>
      if (typeof messageId === 'string' && typeof requestId === 'string' && Number.isSafeInteger(amount))
        return { value: { messageId, requestId, amount: Number(amount) } }
      return { issues: [{ message: 'a request has messageId, requestId and a whole amount' }] }
    },
  },
}
`
}

export function tablesText({ name }: ProjectAnswers): string {
  return `create table if not exists ${name}_booked (
  request_id text primary key,
  amount bigint not null
);
`
}
