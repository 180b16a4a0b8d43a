import type { CrashPoint } from 'onceward/testing'
import type { BrokerKind } from './brokers.ts'

/** How the crash suite reaches a point, and on which brokers it exists. */
export interface CrashScenario {
  readonly task: 'consume' | 'migrate' | 'drain'
  /** Passages after which to die, one run each: the first, and one in the middle of the work. */
  readonly hits: readonly number[]
  /** Brokers on which the point does not exist, with the reason. */
  readonly without?: Partial<Record<BrokerKind, string>>
}

const consume: CrashScenario = { task: 'consume', hits: [1, 4] }

export const crashScenarios: Record<CrashPoint, CrashScenario> = {
  'batch.received': consume,
  'batch.claimed': consume,
  'batch.applied': consume,
  'batch.concluded': consume,
  'batch.fenced': {
    ...consume,
    without: { postgres: 'a queue has no positions to guard', rabbitmq: 'a queue has no positions to guard' },
  },
  'batch.committed': consume,
  'batch.settled': consume,
  'drain.begun': { task: 'drain', hits: [1] },
  'relay.claimed': { task: 'consume', hits: [1] },
  'relay.published': { task: 'consume', hits: [1] },
  'relay.deleted': { task: 'consume', hits: [1] },
  'dispatch.claimed': consume,
  'dispatch.called': consume,
  'dispatch.recorded': consume,
  'postgres.leased': {
    task: 'consume',
    hits: [1, 2],
    without: {
      rabbitmq: 'RabbitMQ leases nothing: its channel holds deliveries',
      'rabbitmq-stream': 'a stream leases nothing: it is read by position',
    },
  },
  'migrate.applied': {
    task: 'migrate',
    hits: [1],
    without: {
      rabbitmq: 'migrations do not touch the broker',
      'rabbitmq-stream': 'migrations do not touch the broker',
    },
  },
}
