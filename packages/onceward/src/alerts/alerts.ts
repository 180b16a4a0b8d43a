import type { Alert } from './alert.ts'
import { effectAlerts } from './effect-alerts.ts'
import { failureAlerts } from './failure-alerts.ts'
import { flowAlerts } from './flow-alerts.ts'

const all = [...flowAlerts, ...failureAlerts, ...effectAlerts]

export type AlertName = (typeof all)[number]['name']

/** Every alert there is: those of 001 §30, the derived signals of 003 §19, and what else leads to a runbook. */
export const alerts: readonly (Alert & { readonly name: AlertName })[] = all
