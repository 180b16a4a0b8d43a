import { MemoryLog, MemoryQueue, MemoryStore, type MemoryTransaction } from 'onceward/memory'
import type { SourceFactory, StoreFactory } from 'onceward/testing'

export const memorySource: SourceFactory = {
  without: {
    'byte bound': 'the memory queue bounds the count only',
    'key order across subscriptions': 'the memory queue keeps the order of a key for one subscription only',
  },
  async create() {
    const queue = new MemoryQueue()
    return {
      source: queue,
      another: () => queue,
      publish: async messages => queue.publish(...messages),
      remaining: async () => queue.unsettled,
      disconnect: async () => queue.disconnect(),
      close: async () => {},
    }
  },
}

export const memoryLog: SourceFactory = {
  async create() {
    const log = new MemoryLog()
    return {
      source: log,
      another: () => log,
      publish: async messages => log.publish(...messages),
      partitions: log.partitions,
      countFrom: async (partition, cursor) => log.countFrom(partition, Number(cursor ?? 0)),
      committed: async (partition, consumer) => log.committed(partition, consumer)?.toString() ?? null,
      loseRecords: async (partition, keep) => log.expire(partition, log.end(partition) - keep),
      recreate: async () => log.recreate(),
      forgetPositions: async () => log.forgetCommitted(),
      disconnect: async () => log.disconnect(),
      close: async () => {},
    }
  },
}

const list = 'applied'

export const memoryStore: StoreFactory<MemoryTransaction> = {
  without: {
    'concurrent transactions': 'the memory store runs one transaction after the other',
    'failing statements': 'a map has no statement that could fail',
  },
  async create() {
    const store = new MemoryStore()
    const read = () => store.committed
    const inScope = (consumer: string, key: string) => `${consumer}/1\0${key}`
    return {
      store,
      second: store,
      async apply(tx, key) {
        tx.set(list, [...((tx.get(list) as string[] | undefined) ?? []), key])
      },
      applied: async () => (read().data.get(list) as string[] | undefined) ?? [],
      marker: async (consumer, id) => read().markers.get(inScope(consumer, id))?.status ?? null,
      businessKey: async (consumer, key) => read().businessKeys.get(inScope(consumer, key))?.id ?? null,
      held: async consumer =>
        [...read().held]
          .filter(([key]) => key.startsWith(inScope(consumer, '')))
          .map(([, row]) => row)
          .map(({ id, state, seen, attempts, code, reason, body }) => ({
            id,
            state,
            seen,
            attempts,
            code,
            reason,
            body,
          })),
      position: async (consumer, partition, generation = 1) =>
        read().checkpoints.get(`${consumer}/${generation}\0${partition}`)?.stored ?? null,
      losses: async consumer =>
        [...read().losses].filter(([key]) => key.startsWith(inScope(consumer, ''))).map(([, loss]) => loss),
      attempts: async (consumer, id) => read().attempts.get(inScope(consumer, id))?.length ?? 0,
      intents: async consumer =>
        [...read().intents]
          .filter(([key]) => key.startsWith(consumer))
          .map(([, { target, key, body }]) => ({ target, key, body })),
      outbox: async queue =>
        read()
          .outbox.filter(one => one.queue === queue)
          .map(({ messageId }) => messageId),
      close: async () => {},
    }
  },
}
