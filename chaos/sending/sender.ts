import type { PlannedMessage } from '../plan/messages.ts'
import { type ChaosSettings, partitions, partitionsOf } from '../processes/settings.ts'
import { kafkaSender } from './kafka.ts'
import { postgresSender } from './postgres.ts'
import { rabbitmqSender } from './rabbitmq.ts'

/** A producer of another team: the broker's own client, no code of the library. */
export interface Sender {
  /** Resolves when the broker has confirmed every message; rejects when it is unknown which. */
  send(messages: readonly PlannedMessage[]): Promise<void>
  /** Writes them in a transaction that is aborted. */
  abort(messages: readonly PlannedMessage[]): Promise<void>
  close(): Promise<void>
}

export function openSender(settings: ChaosSettings): Promise<Sender> {
  const { source, outside } = settings
  switch (settings.cell.source) {
    case 'postgres':
      return postgresSender(outside.databaseUrl, source)
    case 'quorum':
      return rabbitmqSender(outside.rabbitmqUrl!, () => source)
    case 'stream': {
      const streams = partitionsOf(source)
      return rabbitmqSender(outside.rabbitmqUrl!, message => streams[partitionOf(message)]!)
    }
    case 'kafka':
      return kafkaSender(outside.kafkaBootstrap!, source, partitionOf)
  }
}

/** All messages of one key are in one partition. */
const partitionOf = ({ key }: PlannedMessage): number => Number(key?.split('-')[1] ?? 0) % partitions
