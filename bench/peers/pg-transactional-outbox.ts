import pg from 'pg'
import {
  DatabaseSetup,
  getDisabledLogger,
  IsolationLevel,
  initializeMessageStorage,
  initializePollingMessageListener,
} from 'pg-transactional-outbox'
import { type Increment, incrementsOf } from '../workload.ts'
import { chunksOf, handlerConnections, type Peer, type PeerPlace } from './peer.ts'

const batch = 100
const kind = { aggregateType: 'counter', messageType: 'increment' }

function configOf({ databaseUrl }: PeerPlace) {
  const connection = { connectionString: databaseUrl, max: handlerConnections }
  return {
    outboxOrInbox: 'inbox',
    dbHandlerConfig: connection,
    dbListenerConfig: connection,
    settings: {
      dbSchema: 'public',
      dbTable: 'inbox',
      enableMaxAttemptsProtection: true,
      enablePoisonousMessageProtection: true,
      messageCleanupIntervalInMs: 0,
      nextMessagesBatchSize: batch,
      nextMessagesFunctionName: 'next_inbox_messages',
      nextMessagesPollingIntervalInMs: 10,
    },
  } as const
}

export const pgTransactionalOutbox: Peer = {
  name: 'pg-transactional-outbox, polling',
  reads: 'postgres',
  packageName: 'pg-transactional-outbox',
  configuration:
    `polling listener, nextMessagesBatchSize ${batch} with a fixed batchSizeStrategy, every 10 ms, ` +
    `concurrency parallel, ${handlerConnections} connections, read committed, lock 5 s, no clean-up`,
  storesIds: true,
  handlesBatches: false,
  async fill(place, load) {
    const pool = new pg.Pool({ connectionString: place.databaseUrl })
    const database = new URL(place.databaseUrl).pathname.slice(1)
    const setup = {
      outboxOrInbox: 'inbox',
      database,
      schema: 'public',
      table: 'inbox',
      listenerRole: 'postgres',
      handlerRole: 'postgres',
      nextMessagesSchema: 'public',
      nextMessagesName: 'next_inbox_messages',
    }
    await pool.query(DatabaseSetup.dropAndCreateTable(setup))
    await pool.query(DatabaseSetup.createPollingFunction(setup))
    await pool.query(DatabaseSetup.setupPollingIndexes(setup))
    const store = initializeMessageStorage(configOf(place), getDisabledLogger())
    const client = await pool.connect()
    for (const chunk of chunksOf(incrementsOf(load), 1_000)) {
      await client.query('begin')
      for (const payload of chunk) {
        const aggregateId = String(payload.key)
        await store({ ...kind, id: payload.id, aggregateId, payload, concurrency: 'parallel' }, client)
      }
      await client.query('commit')
    }
    await client.query('analyze inbox')
    client.release()
    await pool.end()
  },
  async work(place) {
    const handle = async ({ payload }: { payload: unknown }, client: pg.ClientBase) => {
      const { key, amount } = payload as Increment
      await client.query('update counter set total = total + $2 where key = $1', [key, amount])
    }
    initializePollingMessageListener(configOf(place), [{ ...kind, handle }], getDisabledLogger(), {
      batchSizeStrategy: async () => batch,
      messageProcessingTransactionLevelStrategy: () => IsolationLevel.ReadCommitted,
    })
  },
}
