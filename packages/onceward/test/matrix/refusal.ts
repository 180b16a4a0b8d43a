import { defineConsumer, realEnvironment, type Source } from 'onceward'
import { createFileSource } from 'onceward/file'
import { createKafkaSource } from 'onceward/kafka'
import { createPostgresSource } from 'onceward/postgres'
import { createRabbitSource } from 'onceward/rabbitmq'
import { createStreamSource } from 'onceward/rabbitmq-stream'
import { assertKeepable } from '../../src/engine/consumer/assert-keepable.ts'
import type { Store } from '../../src/ports/store.ts'
import { contractOf } from './contract-of.ts'
import { allCombinations, type Combination, has, type Pair } from './dimensions.ts'

/** The error that refuses a combination, before anything connects; null if it can be chosen. */
export function refusalOf(combination: Combination): string | null {
  const [name, place] = ['matrix', combination.source === 'file' ? '/tmp/matrix.jsonl' : 'matrix']
  try {
    const contract = contractOf(combination, { name, place, table: 'effect', send: async () => {} })
    const consumer = defineConsumer(contract)
    assertKeepable(consumer, unopened(contract.source), sqlStore)
    return null
  } catch (error) {
    return plain((error as Error).message)
  }
}

const sqlStore = {
  capabilities: { businessKeys: true, keyOrder: true, outgoing: true },
  sql: {},
  work: {},
  checkpoints: {},
} as unknown as Store<unknown>

function unopened(declaration: { readonly kind: string }): Source {
  switch (declaration.kind) {
    case 'rabbitmq':
      return createRabbitSource(declaration as never, { url: 'amqp://localhost' })
    case 'rabbitmq-stream':
      return createStreamSource(declaration as never, { url: 'rabbitmq-stream://localhost' })
    case 'kafka':
      return createKafkaSource(declaration as never, { bootstrap: 'localhost:9092' })
    case 'postgres':
      return createPostgresSource(declaration as never, { pool: {} as never })
    default:
      return createFileSource(declaration as never, { env: realEnvironment() })
  }
}

/** One line for each problem, without the frame of the error. */
const plain = (message: string): string => {
  const problems = [...message.matchAll(/^\s*- (.*)$/gm)].map(([, problem]) => problem!)
  if (problems.length > 0) return problems.join('\n')
  return message.replace(
    /^Consumer matrix needs (.*), which (.*) matrix does not provide as declared\. Nothing was started\. (.*)$/s,
    '$1 is not available on a $2. $3',
  )
}

export const choosable: readonly Combination[] = allCombinations.filter(one => refusalOf(one) === null)

/** The shortest reason among all combinations that have both; null if one of them can be chosen. */
export function pairRefusal(pair: Pair): string | null {
  if (choosable.some(one => has(one, pair))) return null
  const reasons = allCombinations.filter(one => has(one, pair)).map(one => refusalOf(one)!)
  const problems = (reason: string) => reason.split('\n').length
  return reasons.reduce((best, one) => (problems(one) < problems(best) ? one : best))
}
