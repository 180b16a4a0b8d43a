import type { Meter, MeterProvider, MetricOptions } from '@opentelemetry/api'
import { nameWithUnit } from '../telemetry/catalogue.ts'
import { PageHistogram } from '../telemetry/page-histogram.ts'

type Sdk = typeof import('@opentelemetry/sdk-metrics')
type ResourceMetrics = import('@opentelemetry/sdk-metrics').ResourceMetrics
type MetricData = import('@opentelemetry/sdk-metrics').MetricData

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
  const histograms = new OwnHistograms(sdk)
  const exposition = async () => {
    const { resourceMetrics, errors } = await exporter.collect()
    if (errors.length > 0) throw errors[0]
    return serializer.serialize(withUnits(histograms.addTo(resourceMetrics)))
  }
  const getMeter: MeterProvider['getMeter'] = (name, version, options) => {
    const meter = provider.getMeter(name, version, options)
    return name === ownScope ? histograms.of(meter) : meter
  }
  return { provider: { getMeter }, exposition }
}

const ownScope = 'onceward'

/** Histograms of our own metrics, which take one value for each message of a batch at little cost. */
class OwnHistograms {
  readonly #sdk: Sdk
  readonly #startTime: [number, number] = hrTime(Date.now())
  readonly #created = new Map<string, { readonly options: MetricOptions; readonly values: PageHistogram }>()

  constructor(sdk: Sdk) {
    this.#sdk = sdk
  }

  /** The meter with our histograms; its other instruments are the SDK's. */
  of(meter: Meter): Meter {
    const createHistogram = (name: string, options: MetricOptions = {}) => {
      const bounds = options.advice?.explicitBucketBoundaries ?? []
      const { values } = this.#created.get(name) ?? { values: new PageHistogram(bounds) }
      this.#created.set(name, { options, values })
      return values
    }
    return Object.create(meter, { createHistogram: { value: createHistogram } }) as Meter
  }

  addTo(collected: ResourceMetrics): ResourceMetrics {
    const own = [...this.#created.keys()].map(name => this.#data(name)).filter(one => one !== null)
    if (own.length === 0) return collected
    const scopes = collected.scopeMetrics
    const others = scopes.find(({ scope }) => scope.name === ownScope)
    const merged = {
      scope: others?.scope ?? { name: ownScope },
      metrics: [...(others?.metrics ?? []), ...own],
    }
    return { ...collected, scopeMetrics: [...scopes.filter(one => one !== others), merged] }
  }

  #data(name: string): MetricData | null {
    const { options, values } = this.#created.get(name)!
    const points = values.points()
    if (points.length === 0) return null
    const { unit = '', description = '' } = options
    const endTime = hrTime(Date.now())
    return {
      descriptor: { name, unit, description, valueType: 1 },
      aggregationTemporality: this.#sdk.AggregationTemporality.CUMULATIVE,
      dataPointType: this.#sdk.DataPointType.HISTOGRAM,
      dataPoints: points.map(({ attributes, boundaries, counts, sum, count }) => ({
        startTime: this.#startTime,
        endTime,
        attributes,
        value: { buckets: { boundaries, counts }, sum, count },
      })),
    }
  }
}

function hrTime(ms: number): [number, number] {
  return [Math.trunc(ms / 1_000), (ms % 1_000) * 1_000_000]
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
      metrics: scope.name !== ownScope ? metrics : metrics.map(renamed),
    })),
  }
}

function renamed<M extends { readonly descriptor: { readonly name: string; readonly unit: string } }>(
  metric: M,
): M {
  const { descriptor } = metric
  return { ...metric, descriptor: { ...descriptor, name: nameWithUnit(descriptor.name, descriptor.unit) } }
}
