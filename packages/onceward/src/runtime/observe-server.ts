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

const connectionsMax = 64
const requestMs = 5_000

/**
 * Serves `/metrics` for Prometheus, `/livez` (the event loop runs) and `/readyz` (work is being done).
 * The pages are read-only and contain no message data.
 */
export async function startObserveServer(at: {
  readonly host: string
  readonly port: number
}): Promise<ObserveServer> {
  const { exposition, provider } = await openPrometheus()
  // Handlers that use the API get it too, unless an SDK was registered before.
  metrics.setGlobalMeterProvider(provider)
  let read: () => Health = () => ({
    ready: false,
    reasons: ['starting'],
    oldestUnfinishedSeconds: null,
    stalledSeconds: null,
  })
  const server = createServer({ requestTimeout: requestMs, headersTimeout: requestMs }, (request, response) =>
    answer(request, response, exposition, () => read()),
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
    meter: provider.getMeter('onceward'),
    watch(reader) {
      read = reader
    },
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

function answer(
  request: IncomingMessage,
  response: ServerResponse,
  exposition: () => Promise<string>,
  read: () => Health,
): void {
  const say = (status: number, text: string, type = 'text/plain; charset=utf-8') => {
    response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' })
    response.end(request.method === 'HEAD' ? undefined : text)
  }
  if (request.method !== 'GET' && request.method !== 'HEAD') return say(405, 'only GET\n')
  switch (request.url?.split('?', 1)[0]) {
    case '/livez':
      return say(200, 'alive\n')
    case '/readyz': {
      const health = read()
      return say(health.ready ? 200 : 503, `${JSON.stringify(health)}\n`, 'application/json')
    }
    case '/metrics':
      return void exposition().then(
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
