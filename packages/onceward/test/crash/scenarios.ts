import type { CrashPoint } from 'onceward/testing'
import { type BrokerKind, logs } from './brokers.ts'
import type { Memory } from './workload.ts'

/** How the crash suite reaches a point, and on which brokers it exists. */
export interface CrashScenario {
  readonly task: 'consume' | 'migrate' | 'drain'
  /** Passages after which to die, one run each: the first, and one in the middle of the work. */
  readonly hits: readonly number[]
  /** What dies there knows no source: beside the default one the first passage is enough. */
  readonly sourceless?: true
  /** What the contract must remember by for the point to exist. Default: as contracts do that say nothing. */
  readonly memory?: Memory
  /** Where earlier processes die, one after the other, so that the next has somebody to suspect. */
  readonly after?: readonly CrashPoint[]
  /**
   * Until the point is reached processes die here too, as often as it takes: how many messages a source
   * brings at first is its own affair.
   */
  readonly before?: CrashPoint
  /** Brokers on which the point does not exist, with the reason. */
  readonly without?: Partial<Record<BrokerKind, string>>
}

const consume: CrashScenario = { task: 'consume', hits: [1, 4] }

const moves = 'rows for queues of the same database are moved, not published'

const publish: CrashScenario = {
  task: 'consume',
  hits: [1, 2],
  sourceless: true,
  without: { postgres: moves, file: moves },
}

const work: CrashScenario = { task: 'consume', hits: [1, 4], sourceless: true, memory: 'stored' }
const dispatch: CrashScenario = { task: 'consume', hits: [1, 4], sourceless: true }
const publishes = 'only rows for queues of the same database are moved'

const leasesNothing = 'only the queue on PostgreSQL leases rows'
const migratesNothing = 'migrations do not touch the broker'

const logsOnly = {
  postgres: 'a queue has no positions to guard',
  rabbitmq: 'a queue has no positions to guard',
}

/**
 * Points that no consumer reaches while it takes messages, and the file that kills a process at each of them.
 */
export const killedElsewhere = {
  'brake.engaging': 'failure/brake-kill.test.ts',
  'brake.ending': 'failure/brake-kill.test.ts',
  'parking.selected': 'parking/kill.test.ts',
  'parking.moving': 'parking/kill.test.ts',
  'parking.moved': 'parking/kill.test.ts',
  'parking.skipped': 'parking/kill.test.ts',
  'parking.fixed': 'parking/kill.test.ts',
  'parking.deleted': 'parking/kill.test.ts',
  'replay.taken': 'replay/deaths.ts',
  'replay.journaled': 'replay/deaths.ts',
  'replay.undone': 'replay/deaths.ts',
  'replay.ended': 'replay/deaths.ts',
  'swap.moved': 'replay/deaths.ts',
  'swap.done': 'replay/deaths.ts',
  'swap.undone': 'replay/deaths.ts',
  'retention.archived': 'retention/kill.test.ts',
  'retention.removed': 'retention/kill.test.ts',
  'retention.committed': 'retention/kill.test.ts',
  'receipts.archived': 'retention/receipts-kill.test.ts',
  'receipts.removed': 'retention/receipts-kill.test.ts',
  'receipts.gone': 'retention/receipts-kill.test.ts',
  'days.made': 'retention/days-kill.test.ts',
  'days.sealed': 'retention/days-kill.test.ts',
  'days.dropped': 'retention/days-kill.test.ts',
  'days.gone': 'retention/days-kill.test.ts',
  'days.built': 'retention/days-kill.test.ts',
  'days.attached': 'retention/days-kill.test.ts',
  'days.standing': 'retention/days-kill.test.ts',
  'transform.produced': 'kafka/transform-kill.test.ts',
  'transform.positioned': 'kafka/transform-kill.test.ts',
  'transform.committed': 'kafka/transform-kill.test.ts',
  'transform.repairing': 'kafka/repair-kill.cluster.test.ts',
} as const satisfies Partial<Record<CrashPoint, string>>

export type ConsumerPoint = Exclude<CrashPoint, keyof typeof killedElsewhere>
/** Campaigns die in `test/replay`, where somebody resumes them. */
export type ReplayPoint = Extract<CrashPoint, `replay.${string}` | `swap.${string}`>

export const crashScenarios: Record<ConsumerPoint, CrashScenario> = {
  'batch.received': consume,
  'batch.claimed': consume,
  'batch.applied': consume,
  'batch.concluded': consume,
  'batch.fenced': { ...consume, without: logsOnly },
  'batch.committed': consume,
  'batch.settled': consume,
  'checkpoint.taken': { task: 'consume', hits: [1], without: logsOnly },
  'checkpoint.confirmed': { task: 'consume', hits: [1], without: logsOnly },
  'drain.begun': { task: 'drain', hits: [1] },
  'relay.leased': { task: 'consume', hits: [1, 2], sourceless: true },
  'relay.read': publish,
  'relay.published': publish,
  'relay.deleted': publish,
  'relay.moved': {
    task: 'consume',
    hits: [1, 2],
    sourceless: true,
    without: { rabbitmq: publishes, kafka: publishes, 'rabbitmq-stream': publishes },
  },
  'dispatch.leased': dispatch,
  'dispatch.queried': { task: 'consume', hits: [1, 2], sourceless: true },
  'dispatch.called': dispatch,
  'dispatch.recorded': dispatch,
  'postgres.leased': {
    task: 'consume',
    hits: [1, 2],
    without: {
      rabbitmq: leasesNothing,
      kafka: leasesNothing,
      'rabbitmq-stream': leasesNothing,
      file: leasesNothing,
    },
  },
  'work.leased': work,
  'work.handoff': { task: 'consume', hits: [1], memory: 'handed' },
  'work.finished': work,
  'work.committed': work,
  'suspect.counted': { task: 'consume', hits: [1], after: ['batch.applied'], before: 'suspect.grouped' },
  'suspect.grouped': { task: 'consume', hits: [1], after: ['batch.applied'] },
  'suspect.reading': { task: 'consume', hits: [1], after: ['batch.applied'] },
  'suspect.read': { task: 'consume', hits: [1], after: ['batch.applied'] },
  'migrate.applied': {
    task: 'migrate',
    hits: [1],
    without: {
      rabbitmq: migratesNothing,
      kafka: migratesNothing,
      'rabbitmq-stream': migratesNothing,
      file: migratesNothing,
    },
  },
}

/**
 * Points around the moment at which effects and position become durable: on logs also where the store keeps
 * the position.
 */
export const positionPoints = ['batch.fenced', 'batch.committed', 'batch.settled'] as const

/** Points around the moment at which messages are stored for workers, and the broker told. */
export const storedPoints = ['batch.concluded', 'batch.committed', 'batch.settled'] as const

/** Points around the moment at which what failed is kept for its next try. */
export const deferredPoints = ['batch.concluded', 'batch.committed', 'batch.settled'] as const

/** Points around that try, which knows no source. */
export const triedAgainPoints = ['work.leased', 'work.finished', 'work.committed'] as const

export interface CrashRun {
  readonly point: ConsumerPoint
  readonly broker: BrokerKind
  readonly hit: number
  readonly memory: Memory
}

/**
 * Every one on the default source; elsewhere in the middle of the work, and at first where what dies knows no
 * source.
 */
function passagesOn(broker: BrokerKind, { hits, sourceless }: CrashScenario): readonly number[] {
  if (broker === 'postgres') return hits
  return sourceless ? hits.slice(0, 1) : hits.slice(-1)
}

/** Every run of the suite on one broker, and the points that do not exist there with the reason. */
export function runsOn(broker: BrokerKind): { runs: CrashRun[]; skipped: [ConsumerPoint, string][] } {
  const runs: CrashRun[] = []
  const skipped: [ConsumerPoint, string][] = []
  const add = (point: ConsumerPoint, memory: Memory, hits: readonly number[]) =>
    runs.push(...hits.map(hit => ({ point, broker, hit, memory })))
  for (const [point, scenario] of Object.entries(crashScenarios) as [ConsumerPoint, CrashScenario][]) {
    const reason = scenario.without?.[broker]
    if (reason !== undefined) skipped.push([point, reason])
    else add(point, scenario.memory ?? 'after effect', passagesOn(broker, scenario))
  }
  for (const point of storedPoints) add(point, 'stored', [1])
  for (const point of deferredPoints) add(point, 'deferred', [1])
  if (broker === 'postgres') for (const point of triedAgainPoints) add(point, 'deferred', [1])
  if (!logs.includes(broker)) return { runs, skipped }
  for (const point of positionPoints) {
    add(point, 'with effect', passagesOn(broker, crashScenarios[point]))
    add(point, 'checkpoint', crashScenarios[point].hits.slice(-1))
  }
  return { runs, skipped }
}
