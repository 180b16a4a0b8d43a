import type { Command } from 'commander'
import type { Log } from '../environment.ts'
import { errorCode, OncewardError } from '../errors.ts'
import { type ObserveServer, startObserveServer } from '../runtime/observe-server.ts'

export interface MetricsFlags {
  metrics: boolean
  metricsPort?: string
  metricsHost: string
}

const metricsPort = 9464

export function addMetricsOptions(command: Command): Command {
  return command
    .option(
      '--metrics-port <port>',
      `where /metrics, /livez and /readyz are served; 0: any free port (default: ONCEWARD_METRICS_PORT, else ${metricsPort})`,
    )
    .option('--metrics-host <host>', 'address they are served at', '127.0.0.1')
    .option('--no-metrics', 'serve none of them')
}

/**
 * Null where nobody wants it. Called before anything else is started, so that a port that is taken costs
 * nothing. The usual one may be taken by another consumer on the same machine: that is no reason not to run.
 */
export async function serveMetrics(flags: MetricsFlags, log: Log): Promise<ObserveServer | null> {
  const named = flags.metricsPort ?? process.env.ONCEWARD_METRICS_PORT
  const said = named ?? String(metricsPort)
  if (!flags.metrics || said === 'off') return null
  if (!/^\d{1,5}$/.test(said) || Number(said) > 65_535) {
    throw new OncewardError(
      'usage',
      `"${said}" is no port for metrics: a number from 0 to 65535, or ONCEWARD_METRICS_PORT=off. Nothing was started.`,
    )
  }
  const host = flags.metricsHost
  const server = await startObserveServer({ host, port: Number(said) }).catch(error => {
    if (named !== undefined || errorCode(error.cause) !== 'EADDRINUSE') throw error
    log.warn('the usual port for metrics is taken, any free one is used', { port: metricsPort })
    return startObserveServer({ host, port: 0 })
  })
  log.info('metrics and health', { url: server.url })
  return server
}
