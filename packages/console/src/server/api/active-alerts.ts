import type { Consumer } from 'onceward'
import { alertsOf, findAlert } from 'onceward/operations'
import { counted } from './attention.ts'
import type { Flow } from './flow.ts'
import { type Condition, ofMessages } from './message-alerts.ts'
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
 * them by `onceward alerts`. Without the contract, an alert of every consumer is looked for, and no objective
 * is known.
 */
export function activeAlerts(
  name: string,
  overview: Overview,
  flow: Flow,
  contract: Consumer<never, never> | undefined,
): readonly ActiveAlert[] {
  const risk = overview.status.consumers.find(one => one.name === name)?.risk ?? 'money'
  const found = [
    ...ofProcesses(name, overview, flow),
    ...ofMessages(name, overview, flow, contract),
    ...ofEffects(name, overview),
  ]
  const declared = contract === undefined ? null : new Set(alertsOf(contract as never).map(one => one.name))
  return found
    .filter(({ alert }) => declared?.has(alert) ?? true)
    .map(({ alert, summary }) => ({ name: alert, summary, ...findAlert(alert, risk) }))
}

function ofProcesses(name: string, { status }: Overview, { halted, brakes }: Flow): Condition[] {
  const own = status.consumers.filter(one => one.name === name)
  const open = own.reduce((sum, one) => sum + one.openRuns, 0)
  const silent = own.reduce((sum, one) => sum + one.silentRuns, 0)
  const paused = own.find(one => one.pausedBecause !== null)
  const unserved = status.unserved
    .filter(one => one.consumer === name)
    .reduce((sum, one) => sum + one.waiting, 0)
  const found: (Condition | false)[] = [
    open === 0 &&
      (halted !== null || silent > 0) && {
        alert: 'OncewardDown',
        summary: halted === null ? 'no process runs' : `halted: ${halted.reason}`,
      },
    paused !== undefined && { alert: 'OncewardPaused', summary: `paused: ${paused.pausedBecause}` },
    brakes.length > 0 && {
      alert: 'OncewardBraked',
      summary: `paused event types: ${brakes.map(({ type }) => type || '(no type)').join(', ')}`,
    },
    unserved > 0 && {
      alert: 'OncewardWorkUnserved',
      summary: `${counted(unserved, 'message')} without a worker`,
    },
  ]
  return found.filter(one => one !== false)
}

const inDoubt = ['unknown', 'reconciling', 'failed']

function ofEffects(name: string, { status }: Overview): Condition[] {
  const open = status.ledger.filter(one => one.consumer === name && inDoubt.includes(one.state))
  const count = open.reduce((sum, one) => sum + one.count, 0)
  if (count === 0) return []
  const summary = `${counted(count, 'call')} that failed or have an unknown outcome`
  return [{ alert: 'OncewardUnknownEffects', summary }]
}
