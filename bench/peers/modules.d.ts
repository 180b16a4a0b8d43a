/** The parts of the peers' packages that the bench calls: `npm run check` passes without them installed. */
declare module 'graphile-worker' {
  interface WorkerUtils {
    migrate(): Promise<void>
    addJobs(jobs: readonly { identifier: string; payload: unknown }[]): Promise<unknown>
    forceUnlockWorkers(workerIds: readonly string[]): Promise<void>
    release(): Promise<void>
  }
  export function makeWorkerUtils(options: { connectionString: string }): Promise<WorkerUtils>
  export function run(options: {
    connectionString: string
    preset: { worker: object }
    taskList: Record<string, (payload: never) => Promise<unknown>>
    noHandleSignals: boolean
  }): Promise<unknown>
}

declare module 'bullmq' {
  export const createPostgresBackend: unknown
  export class Queue {
    constructor(name: string, options: object, backend?: unknown)
    addBulk(jobs: readonly { name: string; data: unknown; opts: object }[]): Promise<unknown>
  }
  export class Worker {
    constructor(
      name: string,
      handle: (job: { readonly data: never }) => Promise<unknown>,
      options: object,
      backend?: unknown,
    )
    on(event: 'error', listener: (error: Error) => void): void
  }
}

declare module 'ioredis' {
  export class Redis {
    constructor(url: string, options: { maxRetriesPerRequest: null })
  }
}

declare module '@dbos-inc/dbos-sdk' {
  export const DBOS: {
    setConfig(config: object): void
    launch(): Promise<void>
    shutdown(): Promise<void>
    registerQueue(name: string, options: object): Promise<unknown>
    readonly workflowID: string | undefined
    readonly stepID: number | undefined
    runStep(step: () => Promise<void>, options: { name: string }): Promise<void>
    registerWorkflow(workflow: (message: never) => Promise<void>, options: { name: string }): unknown
  }
  export class DBOSClient {
    static create(options: { systemDatabaseUrl: string }): Promise<DBOSClient>
    enqueue(options: object, message: unknown): Promise<unknown>
    destroy(): Promise<void>
  }
}

declare module '@dbos-inc/dbos-sdk/datasource' {
  export function assertStillOwnsWorkflow(workflowId: string): Promise<void>
  export function migrateDataSourcePG(
    execute: (sql: string) => Promise<readonly Record<string, unknown>[]>,
  ): Promise<void>
  export function registerDataSource(source: object): void
  export function replayRecordedStep(recorded: object): unknown
  export function runTransaction(
    work: () => Promise<void>,
    name: string,
    options: { dsName: string },
  ): Promise<void>
}

declare module 'pg-transactional-outbox' {
  type Sql = (setup: object) => string
  export const DatabaseSetup: {
    dropAndCreateTable: Sql
    createPollingFunction: Sql
    setupPollingIndexes: Sql
  }
  export const IsolationLevel: { readonly ReadCommitted: string }
  export function getDisabledLogger(): unknown
  export function initializeMessageStorage(
    config: object,
    logger: unknown,
  ): (message: object, client: object) => Promise<void>
  export function initializePollingMessageListener(
    config: object,
    handlers: readonly object[],
    logger: unknown,
    strategies: object,
  ): unknown
}

declare module '@golevelup/nestjs-rabbitmq' {
  export const RabbitMQModule: { forRoot(options: object): import('@nestjs/common').DynamicModule }
  export function RabbitSubscribe(
    options: object,
  ): (prototype: object, method: string, descriptor: PropertyDescriptor) => void
}

declare module 'kafkajs' {
  export const logLevel: { readonly NOTHING: number }
  export class Kafka {
    constructor(options: object)
    consumer(options: object): {
      connect(): Promise<void>
      subscribe(options: { topic: string; fromBeginning: boolean }): Promise<void>
      run(options: {
        partitionsConsumedConcurrently: number
        eachMessage(delivery: { message: { value: Buffer | null } }): Promise<void>
      }): Promise<void>
    }
  }
}
