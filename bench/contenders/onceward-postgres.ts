import { createPostgresSource, postgresQueue } from 'onceward/postgres'
import type { OpenContender } from './contender.ts'
import { consumeWith, type OpenSource } from './onceward.ts'

const openSource: OpenSource = (queueName, pool) => {
  const declaration = postgresQueue(queueName)
  return { declaration: { ...declaration }, source: createPostgresSource(declaration, { pool }) }
}

export const openOncewardQueueBatch: OpenContender = async place => consumeWith(place, 'batch', openSource)
export const openOncewardQueueMessage: OpenContender = async place =>
  consumeWith(place, 'message', openSource)
