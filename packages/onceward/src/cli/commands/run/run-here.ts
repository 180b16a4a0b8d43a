import type { Consumer } from '../../../contract/define-consumer.ts'
import type { Mode, SqlTransaction } from '../../../contract/handler.ts'
import type { Log, LogLevel } from '../../../environment.ts'
import { type ChildNumber, linkToSupervisor } from '../../../runtime/child-process.ts'
import { loadStore } from '../../../runtime/load-consumer.ts'
import { openMeter, starting, startObserveServer } from '../../../runtime/observe-server.ts'
import { realEnvironment } from '../../../runtime/real-environment.ts'
import { type Part, type Running, runConsumer } from '../../../runtime/run-consumer.ts'
import { shareOut } from '../../../runtime/share-out.ts'
import { openDatabase } from '../../database.ts'
import { print } from '../../output.ts'
import { type MetricsFlags, metricsWanted, serveMetrics } from '../../serve-metrics.ts'
import { serverAddresses } from '../../server-addresses.ts'
import { onSignals } from '../../signals.ts'
import { secondsMs, startTimeout } from '../../whole-number.ts'
import { type RunReport, reportText } from './run-report.ts'

export interface RunFlags extends MetricsFlags {
  json?: boolean
  logLevel: LogLevel
  mode: Mode
  part?: Part[]
  drain: string
  startTimeout?: string
  policy?: string
  metricsMaxAge: string
  embedded?: boolean
  processes: string
}

export const runHelp = 'onceward run --help'

/** Runs the consumer in this process: the only one, or one of several under a supervisor. */
export async function runHere(
  file: string,
  consumer: Consumer<unknown, SqlTransaction>,
  flags: RunFlags,
  log: Log,
  child: ChildNumber | null,
): Promise<void> {
  const drainMs = secondsMs(flags.drain, '--drain', runHelp)
  const gaugesMaxAgeMs = secondsMs(flags.metricsMaxAge, '--metrics-max-age', runHelp)
  const startTimeoutMs = startTimeout(flags, runHelp)
  const isolated = child !== null && consumer.isolation.mode === 'child'
  let running: Running | null = null
  let report: RunReport | null = null
  const link =
    child &&
    linkToSupervisor({
      deadlineMs: isolated ? consumer.isolation.deadlineMs : null,
      onOrphaned() {
        if (running !== null) running.drain(drainMs).catch(() => {})
        else if (!process.emit('SIGTERM', 'SIGTERM')) process.exit(1)
      },
    })
  const store = await loadStore(file)
  const signals = onSignals()
  const server = link === null ? await serveMetrics(flags, log, startObserveServer) : null
  const meter = link !== null && metricsWanted(flags) ? await openMeter() : null
  if (meter !== null) link?.answer('metrics', meter.metrics)
  link?.answer('health', () => running?.health() ?? starting)
  const database = await openDatabase(log, { embedded: flags.embedded === true && child === null })
  try {
    running = await runConsumer(child === null ? consumer : shareOut(consumer, child), {
      databaseUrl: database.url,
      ...(store && { store }),
      ...serverAddresses(),
      archiveFolder: process.env.ONCEWARD_ARCHIVE_FOLDER,
      mode: flags.mode,
      isolated,
      startTimeoutMs,
      signal: signals.starting,
      ...(flags.part && { parts: flags.part }),
      gaugesMaxAgeMs,
      env: realEnvironment({ log, meter: server?.meter ?? meter?.meter }),
    })
    server?.watch(running.health)
    signals.running(running, drainMs)
    await running.finished
    const worked = running.worker?.tally.outcomes
    const ended = { ...running.consumer?.tally, ...(worked && { worked }) }
    report = ended
    if (link === null) print(flags.json === true, { ok: true, ...ended }, () => reportText(ended))
  } finally {
    await store?.close?.()
    await database.close()
    await server?.close()
    link?.ending(report)
  }
}
