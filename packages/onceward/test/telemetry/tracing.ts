import {
  type Context,
  context,
  propagation,
  type SpanContext,
  type TextMapGetter,
  type TextMapPropagator,
  TraceFlags,
  trace,
} from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'

/** The `traceparent` of W3C, as any SDK registers it. */
const w3c: TextMapPropagator = {
  fields: () => ['traceparent'],
  inject(from, carrier, setter) {
    const its = trace.getSpanContext(from)
    if (its === undefined) return
    setter.set(carrier, 'traceparent', `00-${its.traceId}-${its.spanId}-0${its.traceFlags.toString(16)}`)
  },
  extract(to: Context, carrier: unknown, getter: TextMapGetter): Context {
    const value = getter.get(carrier, 'traceparent')
    const found = /^00-([0-9a-f]{32})-([0-9a-f]{16})-0([01])$/.exec(String(value))
    if (found === null) return to
    const [, traceId, spanId] = found
    return trace.setSpanContext(to, {
      traceId: traceId!,
      spanId: spanId!,
      traceFlags: TraceFlags.SAMPLED,
      isRemote: true,
    })
  },
}

export const exporter = new InMemorySpanExporter()

/** For the whole process, as the API has it. */
export function registerTracing(): void {
  trace.setGlobalTracerProvider(
    new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] }),
  )
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  propagation.setGlobalPropagator(w3c)
}

/** A context some producer made up: `traceparent` and what it means. */
export function producerContext(n: number): { traceparent: string; traceId: string; spanId: string } {
  const traceId = n.toString(16).padStart(32, '0')
  const spanId = (n + 0x1000).toString(16).padStart(16, '0')
  return { traceparent: `00-${traceId}-${spanId}-01`, traceId, spanId }
}

export const spansNamed = (name: string) => exporter.getFinishedSpans().filter(span => span.name === name)
export const idOf = ({ traceId, spanId }: SpanContext) => `${traceId}/${spanId}`
