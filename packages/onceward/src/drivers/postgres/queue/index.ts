export { type PostgresQueue, type PostgresQueueOptions, postgresQueue } from './declaration.ts'
export { type PostgresMessage, publish } from './publish.ts'
export { createQueue, hint, queueDepth } from './queue.ts'
export { createPostgresSource, type PostgresSourceOptions } from './source.ts'
