import type { Consumer } from 'onceward'
import { alertsOf } from 'onceward/operations'
import { counted } from './attention.ts'
import type { Flow } from './flow.ts'
import type { Overview } from './screens.ts'

/** An alert whose condition holds now, by what the database has. */
export interface ActiveAlert {
  readonly name: string
  readonly severity: 'critical' | 'warning' | 'info'
  readonly summary: string
  /** Name of the runbook. */
  readonly runbook: string
}

/**
 * The alerts that need no metrics server. Those about rates of errors and latencies do: Prometheus evaluates
 * them by `onceward alerts`. Severity and runbook are those of the contract; without it, of every consumer.
 */
export function activeAlerts(
  name: string,
  overview: Overview,
  flow: Flow,
  contract: Consumer<never, never> | undefined,
): readonly ActiveAlert[] {
  const found = conditions(name, overview, flow)
  const declared = contract === undefined ? null : alertsOf(contract as never)
  return found.flatMap(({ alert, runbook, severity, summary }) => {
    const rule = declared?.find(one => one.name === alert)
    if (declared !== null && rule === undefined) return []
    return [{ name: alert, severity: rule?.severity ?? severity, summary, runbook: rule?.runbook ?? runbook }]
  })
}

interface Condition {
  readonly alert: string
  readonly runbook: string
  readonly severity: ActiveAlert['severity']
  readonly summary: string
}

function conditions(name: string, overview: Overview, flow: Flow): Condition[] {
  return [
    ...ofProcesses(name, overview, flow),
    ...ofMessages(name, overview, flow),
    ...ofEffects(name, overview),
  ]
}

const alertIf = (
  holds: boolean,
  alert: string,
  runbook: string,
  severity: Condition['severity'],
  summary: string,
): Condition[] => (holds ? [{ alert, runbook, severity, summary }] : [])

function ofProcesses(name: string, { status }: Overview, { halted, brakes }: Flow): Condition[] {
  const own = status.consumers.filter(one => one.name === name)
  const open = own.reduce((sum, one) => sum + one.openRuns, 0)
  const silent = own.reduce((sum, one) => sum + one.silentRuns, 0)
  const paused = own.find(one => one.pausedBecause !== null)
  const unserved = status.unserved
    .filter(one => one.consumer === name)
    .reduce((sum, one) => sum + one.waiting, 0)
  const down = halted === null ? 'no process runs' : `halted: ${halted.reason}`
  return [
    ...alertIf(open === 0 && (halted !== null || silent > 0), 'OncewardDown', 'down', 'critical', down),
    ...alertIf(
      paused !== undefined,
      'OncewardPaused',
      'paused',
      'warning',
      `paused: ${paused?.pausedBecause}`,
    ),
    ...alertIf(
      brakes.length > 0,
      'OncewardBraked',
      'braked',
      'critical',
      `paused event types: ${brakes.map(({ type }) => type || '(no type)').join(', ')}`,
    ),
    ...alertIf(
      unserved > 0,
      'OncewardWorkUnserved',
      'work-unserved',
      'critical',
      `${counted(unserved, 'message')} without a worker`,
    ),
  ]
}

function ofMessages(name: string, { status }: Overview, { objectives }: Flow): Condition[] {
  const own = status.consumers.filter(one => one.name === name)
  const total = (of: (one: (typeof own)[number]) => number) => own.reduce((sum, one) => sum + of(one), 0)
  const [dead, quarantined] = [total(one => one.dead), total(one => one.quarantined)]
  const allowed = objectives.find(one => one.name === 'setAsideMax')?.limit ?? 0
  const burnt = (objective: string) => objectives.some(one => one.name === objective && one.burnt)
  return [
    ...alertIf(
      dead > allowed,
      'OncewardDeadLetters',
      'dead-letters',
      'critical',
      counted(dead, 'dead message'),
    ),
    ...alertIf(
      quarantined > allowed,
      'OncewardQuarantined',
      'quarantined',
      'critical',
      counted(quarantined, 'quarantined message'),
    ),
    ...alertIf(
      burnt('setAsideAgeMax'),
      'OncewardSetAsideTooLong',
      'set-aside-too-long',
      'warning',
      'messages wait too long for a person',
    ),
    ...alertIf(
      burnt('parkingShareMax'),
      'OncewardParkingNearCap',
      'parking-near-cap',
      'critical',
      'the limit of parked messages is near',
    ),
    ...alertIf(
      burnt('lagMax'),
      'OncewardOldestPending',
      'oldest-pending',
      'critical',
      'the oldest message waits too long',
    ),
  ]
}

function ofEffects(name: string, { status }: Overview): Condition[] {
  const unknown = status.ledger
    .filter(one => one.consumer === name && (one.state === 'unknown' || one.state === 'reconciling'))
    .reduce((sum, one) => sum + one.count, 0)
  return alertIf(
    unknown > 0,
    'OncewardUnknownEffects',
    'unknown-effects',
    'critical',
    `${counted(unknown, 'call')} with an unknown outcome`,
  )
}
