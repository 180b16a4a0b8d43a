import type { Command } from 'commander'
import { OncewardError } from '../errors.ts'
import { type ObserveServer, startObserveServer } from '../runtime/observe-server.ts'
import type { Log } from '../surroundings.ts'

export interface MetricsFlags {
  metrics: boolean
  metricsPort?: string
  metricsHost: string
}

export const metricsPort = 9464

export function addMetricsOptions(command: Command): Command {
  return command
    .option(
      '--metrics-port <port>',
      `where /metrics, /livez and /readyz are served; 0: any free port (default: ONCEWARD_METRICS_PORT, else ${metricsPort})`,
    )
    .option('--metrics-host <host>', 'address they are served at', '127.0.0.1')
    .option('--no-metrics', 'serve none of them')
}

/** Null where nobody wants it. Called before anything else is started, so that a port that is taken costs nothing. */
export async function serveMetrics(flags: MetricsFlags, log: Log): Promise<ObserveServer | null> {
  const said = flags.metricsPort ?? process.env.ONCEWARD_METRICS_PORT ?? String(metricsPort)
  if (!flags.metrics || said === 'off') return null
  if (!/^\d{1,5}$/.test(said) || Number(said) > 65_535) {
    throw new OncewardError(
      'usage',
      `"${said}" is no port for metrics: a number from 0 to 65535, or ONCEWARD_METRICS_PORT=off. Nothing was started.`,
    )
  }
  const server = await startObserveServer({ host: flags.metricsHost, port: Number(said) })
  log.info('metrics and health', { url: server.url })
  return server
}
