import type { Alert } from './alert.ts'
import { effectAlerts } from './effect-alerts.ts'
import { failureAlerts } from './failure-alerts.ts'
import { flowAlerts } from './flow-alerts.ts'

const all = [...flowAlerts, ...failureAlerts, ...effectAlerts]

export type AlertName = (typeof all)[number]['name']

/** Every alert there is. */
export const alerts: readonly (Alert & { readonly name: AlertName })[] = all
