import type { Consumer } from '../../../contract/define-consumer.ts'
import type { Mode, SqlTransaction } from '../../../contract/handler.ts'
import type { Log, LogLevel } from '../../../environment.ts'
import { type ChildNumber, linkToSupervisor } from '../../../runtime/child-process.ts'
import { type LoadedStore, loadStore } from '../../../runtime/load-consumer.ts'
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
import { type RunningTogether, startTogether } from './run-together.ts'

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

export interface LoadedFile {
  readonly file: string
  readonly consumer: Consumer<unknown, SqlTransaction>
}

/**
 * Runs consumers in this process: the only one, or one of several under a supervisor. When one ends, the
 * others are drained too, so that a supervisor restarts all of them.
 */
export async function runHere(
  files: readonly LoadedFile[],
  flags: RunFlags,
  log: Log,
  child: ChildNumber | null,
): Promise<void> {
  const drainMs = secondsMs(flags.drain, '--drain', runHelp)
  const gaugesMaxAgeMs = secondsMs(flags.metricsMaxAge, '--metrics-max-age', runHelp)
  const startTimeoutMs = startTimeout(flags, runHelp)
  const { isolation } = files[0]!.consumer
  const isolated = child !== null && isolation.mode === 'child'
  let running: RunningTogether | null = null
  let report: RunReport | null = null
  const link =
    child &&
    linkToSupervisor({
      deadlineMs: isolated ? isolation.deadlineMs : null,
      onOrphaned() {
        if (running !== null) running.drain(drainMs).catch(() => {})
        else if (!process.emit('SIGTERM', 'SIGTERM')) process.exit(1)
      },
    })
  const stores: (LoadedStore | undefined)[] = []
  for (const { file } of files) stores.push(await loadStore(file))
  const signals = onSignals()
  const server = link === null ? await serveMetrics(flags, log, startObserveServer) : null
  const meter = link !== null && metricsWanted(flags) ? await openMeter() : null
  if (meter !== null) link?.answer('metrics', meter.metrics)
  link?.answer('health', () => running?.health() ?? starting)
  const database = await openDatabase(log, { embedded: flags.embedded === true && child === null })
  try {
    const start = ({ consumer }: LoadedFile, index: number): Promise<Running> => {
      const store = stores[index]
      return runConsumer(child === null ? consumer : shareOut(consumer, child), {
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
    }
    running = await startTogether(
      files.map(({ consumer }) => consumer.name),
      index => start(files[index]!, index),
    )
    server?.watch(running.health)
    signals.running(running, drainMs)
    await running.finished
    report = running.report()
    if (link === null) print(flags.json === true, { ok: true, ...report }, () => reportText(report!))
  } finally {
    for (const store of stores) await store?.close?.()
    await database.close()
    await server?.close()
    link?.ending(report)
  }
}
