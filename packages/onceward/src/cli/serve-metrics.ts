import { existsSync } from 'node:fs'
import { type Command, Option } from 'commander'
import type { Log } from '../environment.ts'
import { errorCode, OncewardError } from '../errors.ts'
import type { ListenAt } from '../runtime/observe-server.ts'

export interface MetricsFlags {
  metrics: boolean
  metricsPort?: string
  metricsHost: string
}

const metricsPort = 9464
const everyAddress = '0.0.0.0'

/** Inside a container, nothing but the container itself reaches the loopback address. */
export function isContainer(
  environment: NodeJS.ProcessEnv = process.env,
  exists: (path: string) => boolean = existsSync,
): boolean {
  if (environment.KUBERNETES_SERVICE_HOST !== undefined) return true
  return exists('/.dockerenv') || exists('/run/.containerenv')
}

export function addMetricsOptions(command: Command): Command {
  return command
    .option(
      '--metrics-port <port>',
      `port of /metrics, /livez and /readyz; 0: any free port (default: ONCEWARD_METRICS_PORT, else ${metricsPort})`,
    )
    .addOption(
      new Option('--metrics-host <host>', 'address to listen on').default(
        isContainer() ? everyAddress : '127.0.0.1',
        '127.0.0.1, in a container 0.0.0.0',
      ),
    )
    .option('--no-metrics', 'do not serve metrics and health')
}

const namedPort = (flags: MetricsFlags) => flags.metricsPort ?? process.env.ONCEWARD_METRICS_PORT

export function metricsWanted(flags: MetricsFlags): boolean {
  return flags.metrics && namedPort(flags) !== 'off'
}

/**
 * Null when no metrics port is configured. Called before anything else starts, so that a port in use fails
 * early. The default port may be in use by another consumer of the machine: then any free port is used.
 */
export async function serveMetrics<Server extends { readonly url: string }>(
  flags: MetricsFlags,
  log: Log,
  start: (at: ListenAt) => Promise<Server>,
): Promise<Server | null> {
  const named = namedPort(flags)
  const said = named ?? String(metricsPort)
  if (!metricsWanted(flags)) return null
  if (!/^\d{1,5}$/.test(said) || Number(said) > 65_535) {
    throw new OncewardError(
      'usage',
      `"${said}" is not a valid metrics port: use 0 to 65535, or ONCEWARD_METRICS_PORT=off. Nothing was started.`,
    )
  }
  const host = flags.metricsHost
  const server = await start({ host, port: Number(said) }).catch(error => {
    if (named !== undefined || errorCode(error.cause) !== 'EADDRINUSE') throw error
    log.warn('default metrics port is in use, using any free port', { port: metricsPort })
    return start({ host, port: 0 })
  })
  log.info('metrics and health', { url: server.url })
  return server
}
