import type {
  CommitAnswer,
  CommittedOffset,
  FetchEvents,
  Fetcher,
  KafkaClient,
  Member,
  MembershipEvents,
} from '../../src/drivers/kafka/client/kafka-client.ts'
import type { PartitionProgress } from '../../src/drivers/log/partition-progress.ts'

/** A client without a broker: the test says what the group and the log say. */
export function clientRig(partitions = 2) {
  const seen = {
    group: null as MembershipEvents | null,
    log: null as FetchEvents | null,
    /** What was given to the fetcher, in order. */
    added: [] as {
      readonly partition: number
      readonly progress: PartitionProgress
      readonly offset: number
    }[],
    /** Answers of the next commits; the rest is confirmed. */
    answers: [] as CommitAnswer[],
  }
  const committed = new Map<number, CommittedOffset>()
  const fetcher: Fetcher = {
    add: (partition, progress, offset) => void seen.added.push({ partition, progress, offset }),
    remove() {},
    wake() {},
    endOf: () => null,
    leaderEpochAt: () => -1,
    positionOf: () => null,
    silentMs: () => 0,
    owedMs: () => 0,
    restart() {},
    close() {},
  }
  const client: KafkaClient = {
    check: async () => {},
    describe: async () => ({ id: 'i', partitions }),
    bounds: async some => new Map(some.map(partition => [partition, { start: 0, end: 10 }])),
    logEnds: async some => new Map(some.map(partition => [partition, { end: 10, leaderEpoch: 0 }])),
    offsetsSince: async () => new Map(),
    committed: async () => new Map(committed),
    commit: async offsets => {
      const answer = seen.answers.shift() ?? { kind: 'confirmed' }
      if (answer.kind === 'confirmed') for (const one of offsets) committed.set(one.partition, one)
      return answer
    },
    join: events => {
      seen.group = events
      return { refresh() {}, rejoin() {}, partitionsAdded() {}, leave: async () => {} }
    },
    fetcher: events => {
      seen.log = events
      return fetcher
    },
    close: async () => {},
  }
  return { client, seen }
}

export const aMember = (id = 'm'): Member => ({ id, epoch: 1, live: true })

/** Of the first partition. */
export const record = (offset: number): Parameters<FetchEvents['onRecords']>[1][number] => ({
  body: Buffer.from(String(offset)),
  headers: {},
  properties: {},
  key: null,
  at: String(offset),
  next: String(offset + 1),
  position: `t/0@${offset}`,
  redelivered: false,
})
