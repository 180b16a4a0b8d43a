import {
  type Attributes,
  type Context,
  context,
  propagation,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type TextMapGetter,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import { errorCode } from '../errors.ts'

/** The headers of a message. */
export type TraceCarrier = Readonly<Record<string, unknown>>

export interface SpanSpec {
  readonly name: string
  readonly kind: 'process' | 'call' | 'send'
  readonly attributes: Attributes
  /**
   * The messages of the span. One message continues its trace; several are linked. Headers are read only
   * while an SDK records.
   */
  readonly about?: { readonly count: number; headersOf(index: number): TraceCarrier }
}

/** An open span. `on` is false without a recording SDK, so that callers can skip the cost of attributes. */
export interface OpenSpan {
  readonly on: boolean
  set(attributes: Attributes): void
}

/**
 * Spans around the work, and the trace context in message headers. It uses the OpenTelemetry API alone;
 * without an SDK it does nothing.
 */
export interface Traces {
  /** Ends with `work`. An error is recorded by its code, because error texts may quote messages. */
  span<T>(spec: SpanSpec, work: (span: OpenSpan) => Promise<T>): Promise<T>
  /**
   * Headers for a message that is published while handling the one with these headers; null without a
   * recording SDK.
   */
  outgoing(from: TraceCarrier, destination: string): Record<string, string> | null
}

const nothing: NonNullable<SpanSpec['about']> = { count: 0, headersOf: () => ({}) }
const idle: OpenSpan = { on: false, set() {} }

/** For processes without traces. */
export const untraced: Traces = {
  span: (_spec, work) => work(idle),
  outgoing: () => null,
}

/** The number of links that an SDK keeps by default. */
const linksMax = 128

const kinds = { process: SpanKind.CONSUMER, call: SpanKind.CLIENT, send: SpanKind.PRODUCER } as const

export function createTraces(tracer: Tracer = trace.getTracer('onceward')): Traces {
  return {
    async span({ name, kind, attributes, about = nothing }, work) {
      const parent = about.count === 1 ? continued(about.headersOf(0)) : context.active()
      const span = tracer.startSpan(name, { kind: kinds[kind], attributes }, parent)
      const on = span.isRecording()
      if (on && about.count > 1) link(span, about)
      try {
        return await context.with(trace.setSpan(parent, span), () =>
          work(on ? { on, set: more => void span.setAttributes(more) } : idle),
        )
      } catch (error) {
        if (on) span.setAttribute('error.type', errorCode(error)).setStatus({ code: SpanStatusCode.ERROR })
        throw error
      } finally {
        span.end()
      }
    },
    outgoing(from, destination) {
      const around = trace.getSpan(context.active())
      if (around?.isRecording() !== true) return null
      const origin = extracted(from)
      const its = trace.getSpanContext(origin)
      const same = its === undefined || its.traceId === around.spanContext().traceId
      const span = tracer.startSpan(
        `create ${destination}`,
        {
          kind: SpanKind.PRODUCER,
          attributes: { 'messaging.operation.name': 'create', 'messaging.destination.name': destination },
          ...(!same && { links: [{ context: around.spanContext() }] }),
        },
        same ? context.active() : origin,
      )
      span.end()
      return injected(trace.setSpan(ROOT_CONTEXT, span))
    },
  }
}

/** Headers for a message that is published outside a batch; null without an active trace. */
export function currentTrace(): Record<string, string> | null {
  return injected(context.active())
}

/** The trace in the message’s headers, or the active one. */
function continued(carrier: TraceCarrier): Context {
  const found = extracted(carrier)
  return trace.getSpanContext(found) === undefined ? context.active() : found
}

function link(span: Span, { count, headersOf }: NonNullable<SpanSpec['about']>): void {
  let links = 0
  for (let index = 0; index < count; index++) {
    const found = trace.getSpanContext(extracted(headersOf(index)))
    if (found === undefined) continue
    span.addLink({ context: found })
    if (++links === linksMax) return
  }
}

function extracted(carrier: TraceCarrier): Context {
  return propagation.extract(ROOT_CONTEXT, carrier, getter)
}

function injected(from: Context): Record<string, string> | null {
  const headers: Record<string, string> = {}
  propagation.inject(from, headers)
  return Object.keys(headers).length === 0 ? null : headers
}

const headerMax = 2_048

/** Kafka’s headers are bytes. Other types that a producer may put there hold no context. */
const getter: TextMapGetter<TraceCarrier> = {
  keys: carrier => Object.keys(carrier),
  get(carrier, name) {
    const value = carrier[name]
    if (typeof value === 'string') return value.length <= headerMax ? value : undefined
    if (!(value instanceof Uint8Array) || value.length > headerMax) return undefined
    return Buffer.from(value).toString('latin1')
  },
}
