import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Meter, metrics } from '@opentelemetry/api'
import { errorCode, errorText, OncewardError } from '../errors.ts'
import { openPrometheus } from './open-prometheus.ts'
import type { Health } from './run-health.ts'

export interface ObserveServer {
  /** Its address, such as `http://127.0.0.1:9464`. */
  readonly url: string
  /** `/metrics` shows its instruments. */
  readonly meter: Meter
  /** Until it is called, `/readyz` reports that the process is starting. */
  watch(read: () => Health): void
  close(): Promise<void>
}

/** The contents of the pages. */
export interface Observed {
  /** Prometheus text. */
  metrics(): Promise<string>
  health(): Health | Promise<Health>
}

export interface ListenAt {
  readonly host: string
  readonly port: number
}

const connectionsMax = 64
const requestMs = 5_000

export const starting: Health = {
  ready: false,
  reasons: ['starting'],
  oldestUnfinishedSeconds: null,
  stalledSeconds: null,
}

/** A meter for this process. Handlers that use the API get it too, unless an SDK was registered before. */
export async function openMeter(): Promise<{ readonly meter: Meter; readonly metrics: Observed['metrics'] }> {
  const { exposition, provider } = await openPrometheus()
  metrics.setGlobalMeterProvider(provider)
  return { meter: provider.getMeter('onceward'), metrics: exposition }
}

/** Serves the metrics and the health of this process. */
export async function startObserveServer(at: ListenAt): Promise<ObserveServer> {
  const { meter, metrics } = await openMeter()
  let read: () => Health = () => starting
  const pages = await servePages(at, { metrics, health: () => read() })
  return {
    ...pages,
    meter,
    watch(reader) {
      read = reader
    },
  }
}

/**
 * Serves `/metrics` for Prometheus, `/livez` (the event loop runs) and `/readyz` (work is being done).
 * The pages are read-only and contain no message data.
 */
export async function servePages(
  at: ListenAt,
  observed: Observed,
): Promise<Pick<ObserveServer, 'url' | 'close'>> {
  const server = createServer({ requestTimeout: requestMs, headersTimeout: requestMs }, (request, response) =>
    answer(request, response, observed),
  )
  server.maxConnections = connectionsMax
  await new Promise<void>((resolve, reject) => {
    server.once('error', error => reject(cannotListen(at, error)))
    server.listen(at.port, at.host, resolve)
  })
  server.unref()
  const { address, port } = server.address() as AddressInfo
  return {
    url: `http://${address.includes(':') ? `[${address}]` : address}:${port}`,
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

function answer(request: IncomingMessage, response: ServerResponse, observed: Observed): void {
  const say = (status: number, text: string, type = 'text/plain; charset=utf-8') => {
    response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' })
    response.end(request.method === 'HEAD' ? undefined : text)
  }
  if (request.method !== 'GET' && request.method !== 'HEAD') return say(405, 'only GET\n')
  switch (request.url?.split('?', 1)[0]) {
    case '/livez':
      return say(200, 'alive\n')
    case '/readyz':
      return void Promise.resolve(observed.health()).then(health =>
        say(health.ready ? 200 : 503, `${JSON.stringify(health)}\n`, 'application/json'),
      )
    case '/metrics':
      return void observed.metrics().then(
        text => say(200, text, 'text/plain; version=0.0.4; charset=utf-8'),
        error => say(500, `# not collected: ${errorText(error, 200).replaceAll(/\s+/g, ' ')}\n`),
      )
    default:
      return say(404, 'there are /metrics, /livez and /readyz\n')
  }
}

function cannotListen({ host, port }: { host: string; port: number }, error: Error): OncewardError {
  const why =
    errorCode(error) === 'EADDRINUSE' ? 'the port is taken by another process' : errorText(error, 200)
  return new OncewardError(
    'configuration',
    `Metrics and health cannot be served at ${host}:${port}: ${why}. Nothing was started. Pass another --metrics-port, 0 for any free one, or --no-metrics.`,
    { cause: error },
  )
}
