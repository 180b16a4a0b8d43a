import type { MeterProvider } from '@opentelemetry/api'
import { nameWithUnit } from '../telemetry/catalogue.ts'

type ResourceMetrics = import('@opentelemetry/sdk-metrics').ResourceMetrics

/**
 * A meter provider and its metrics as Prometheus text. The SDK and the exporter are loaded only here; the
 * rest of the library uses the OpenTelemetry API alone.
 */
export async function openPrometheus(): Promise<{
  readonly provider: MeterProvider
  readonly exposition: () => Promise<string>
}> {
  const sdk = await import('@opentelemetry/sdk-metrics')
  const { PrometheusExporter, PrometheusSerializer } = await import('@opentelemetry/exporter-prometheus')
  const exporter = new PrometheusExporter({ preventServerStart: true })
  const serializer = new PrometheusSerializer('', false, undefined, true, true)
  const provider = new sdk.MeterProvider({ readers: [exporter] })
  const exposition = async () => {
    const { resourceMetrics, errors } = await exporter.collect()
    if (errors.length > 0) throw errors[0]
    return serializer.serialize(withUnits(resourceMetrics))
  }
  return { provider, exposition }
}

/**
 * The serializer adds `_total` and no unit, so our metrics get their units here: `messaging_process_duration`
 * becomes `messaging_process_duration_seconds`. Rejected: Views. A View that renames matches one instrument,
 * so every metric in seconds would need its own. Metrics of handlers keep the names their authors chose.
 */
function withUnits(collected: ResourceMetrics): ResourceMetrics {
  return {
    ...collected,
    scopeMetrics: collected.scopeMetrics.map(({ scope, metrics }) => ({
      scope,
      metrics: scope.name !== 'onceward' ? metrics : metrics.map(renamed),
    })),
  }
}

function renamed<M extends { readonly descriptor: { readonly name: string; readonly unit: string } }>(
  metric: M,
): M {
  const { descriptor } = metric
  return { ...metric, descriptor: { ...descriptor, name: nameWithUnit(descriptor.name, descriptor.unit) } }
}
