import {
  catalogue,
  type MetricSpec,
  prometheusName,
} from '../../packages/onceward/src/telemetry/catalogue.ts'
import { table } from './markdown.ts'

export function metricsTable(): string {
  const specs: readonly MetricSpec[] = Object.values(catalogue)
  return table(
    ['Prometheus', 'OpenTelemetry', 'kind', 'unit', 'labels', 'what it says'],
    specs.map(spec => [
      `\`${prometheusName(spec)}\``,
      `\`${spec.name}\``,
      spec.kind,
      spec.unit,
      spec.labels.join(', '),
      spec.description,
    ]),
  )
}
