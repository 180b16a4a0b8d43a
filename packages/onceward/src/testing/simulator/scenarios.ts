import type { ConsumerContract } from '../../contract/contract.ts'
import type { Draws } from './draws.ts'
import type { SimulatedTx } from './handler-transaction.ts'
import { handlersOf } from './handlers.ts'
import type { JobPlan, SimulatedJob } from './job.ts'
import type { Workload, WorkloadShape } from './workload.ts'

/** The promise of the contract that a schedule tests. */
export interface Scenario extends WorkloadShape {
  readonly source: 'queue' | 'log'
  readonly order: 'none' | 'key' | 'partition'
  readonly handler: 'each' | 'batch'
  readonly dedup: 'marker' | 'checkpoint'
  readonly settle: 'after effect' | 'with effect'
  /** How long validation takes. */
  readonly schema: 'none' | 'slow'
}

const troubles: readonly JobPlan[] = [
  'touch',
  'external',
  'clash',
  'fail early',
  'fail late',
  'again',
  'hang',
  'poison',
  'refused',
  'swallow',
  'refused late',
  'careless',
  'fatal',
  'ignore',
  'park',
  'reject',
]

const queue: Scenario = {
  source: 'queue',
  order: 'none',
  handler: 'each',
  dedup: 'marker',
  settle: 'after effect',
  schema: 'none',
  businessKeys: false,
  copies: ['same', 'same', 'other bytes', 'unreadable'],
  plans: troubles,
}

const log: Scenario = { ...queue, source: 'log' }
const logCheckpoint: Scenario = {
  ...log,
  order: 'partition',
  dedup: 'checkpoint',
  settle: 'with effect',
  copies: ['unreadable'],
}

/** The scenarios of the simulator, by name. */
export const simulationScenarios = {
  queue,
  'queue batch': { ...queue, handler: 'batch' },
  'queue business keys': { ...queue, businessKeys: true },
  'queue key order': { ...queue, order: 'key' },
  'queue key order batch': { ...queue, order: 'key', handler: 'batch' },
  'queue key order business keys': { ...queue, order: 'key', businessKeys: true },
  'queue slow schema': { ...queue, schema: 'slow' },
  'queue key order slow schema': { ...queue, order: 'key', schema: 'slow' },
  log,
  'log batch': { ...log, handler: 'batch' },
  'log key order': { ...log, order: 'key' },
  'log partition order': { ...log, order: 'partition' },
  'log partition order batch': { ...log, order: 'partition', handler: 'batch' },
  'log partition order business keys': { ...log, order: 'partition', businessKeys: true },
  'log partition order slow schema': { ...log, order: 'partition', schema: 'slow' },
  'log store position': { ...log, settle: 'with effect' },
  'log store position key order': { ...log, settle: 'with effect', order: 'key' },
  'log checkpoint': logCheckpoint,
  'log checkpoint batch': { ...logCheckpoint, handler: 'batch' },
} as const satisfies Record<string, Scenario>

/** A scenario of the simulator. */
export type ScenarioName = keyof typeof simulationScenarios

export const attemptsMax = 6

/** The contract of a scenario, with other sizes in every schedule. */
export function contractOf(
  scenario: Scenario,
  workload: Workload,
  draws: Draws,
): ConsumerContract<SimulatedJob, SimulatedTx> {
  const { each, batch } = handlersOf(workload)
  return {
    name: 'simulated',
    owner: 'simulator',
    risk: 'low value',
    source: { kind: 'simulated' },
    identity: {
      id: job => job.id,
      ...(scenario.order === 'key' && { orderKey: (job: SimulatedJob) => job.key }),
      ...(scenario.businessKeys && { businessKey: (job: SimulatedJob) => job.business }),
    },
    order: scenario.order,
    dedup: scenario.dedup,
    settle: { when: scenario.settle },
    effect: { external: { gateway: { url: 'https://gateway.invalid/' } } },
    failure: { attemptsMax, delayMs: 100, delayMaxMs: 400 },
    batch: {
      sizeMax: draws.pick([1, 2, 3, 8]),
      inFlightMax: draws.between(1, 3),
      deliveriesMax: draws.pick([4, 16]),
    },
    ...(scenario.handler === 'each' ? { handle: each } : { handleBatch: batch }),
  }
}
