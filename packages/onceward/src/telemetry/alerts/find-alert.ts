import { criticalRisks } from '../../contract/words.ts'
import type { Alert, AlertSeverity } from './alert.ts'
import { alerts } from './alerts.ts'

/** Severity and runbook of an alert for a consumer of this risk, as the rules for Prometheus have them. */
export function findAlert(
  name: string,
  risk: string,
): { readonly severity: AlertSeverity; readonly runbook: string } {
  const alert = alerts.find(one => one.name === name)!
  return { severity: severityOf(alert, risk), runbook: alert.runbook }
}

export function severityOf({ severity, severityElsewhere }: Alert, risk: string): AlertSeverity {
  return (criticalRisks as ReadonlySet<string>).has(risk) ? severity : (severityElsewhere ?? severity)
}
