import { Command, Option } from 'commander'
import type { Consumer } from '../../contract/define-consumer.ts'
import type { Mode } from '../../contract/handler.ts'
import type { Log, LogLevel } from '../../environment.ts'
import { endWithNpm } from '../../runtime/end-with-npm.ts'
import { realEnvironment } from '../../runtime/real-environment.ts'
import { type Part, type Running, runConsumer } from '../../runtime/run-consumer.ts'
import { answerSupervisor, supervise, supervised } from '../../runtime/supervise.ts'
import { openDatabase } from '../database.ts'
import { loadConsumer, loadStore, policyHelp } from '../load-consumer.ts'
import { consoleLog, print } from '../output.ts'
import { addMetricsOptions, type MetricsFlags, serveMetrics } from '../serve-metrics.ts'
import { serverAddresses } from '../server-addresses.ts'
import { onSignals } from '../signals.ts'
import { secondsMs, startTimeout } from '../whole-number.ts'

interface RunFlags extends MetricsFlags {
  json?: boolean
  logLevel: LogLevel
  mode: Mode
  part?: Part[]
  drain: string
  startTimeout?: string
  policy?: string
  metricsMaxAge: string
  embedded?: boolean
}

export function runCommand(): Command {
  const command = new Command('run')
    .description('run a consumer with its dispatcher and relay until SIGTERM or Ctrl-C')
    .argument('<file>', 'module whose default export is a consumer')
    .addOption(
      new Option('--mode <mode>', 'replay and rebuild suppress external effects and messages')
        .choices(['live', 'replay', 'rebuild'])
        .default('live'),
    )
    .addOption(
      new Option('--part <part...>', 'run only these parts').choices([
        'consumer',
        'worker',
        'dispatcher',
        'relay',
        'retention',
      ]),
    )
    .option('--drain <seconds>', 'how long to wait for running work after SIGTERM', '30')
    .option(
      '--metrics-max-age <seconds>',
      'maximum age of values in /metrics that are read from the database',
      '15',
    )
    .option(
      '--start-timeout <seconds>',
      'how long to wait at start for an unreachable database or broker (default: no limit)',
    )
    .option('--policy <file>', policyHelp)
    .option(
      '--embedded',
      'without ONCEWARD_DATABASE_URL: start a PostgreSQL server in .onceward/ of this folder, for evaluation',
    )
    .option('--json', 'log lines and the final counts as JSON')
  command.addOption(
    new Option('--log-level <level>', 'lowest level that is logged')
      .choices(['debug', 'info', 'warn', 'error'])
      .default('info'),
  )
  return addMetricsOptions(command).action(async (file: string, flags: RunFlags) => {
    const json = flags.json === true
    const log = consoleLog(json, flags.logLevel)
    const drainMs = secondsMs(flags.drain, '--drain', 'onceward run --help')
    const gaugesMaxAgeMs = secondsMs(flags.metricsMaxAge, '--metrics-max-age', 'onceward run --help')
    const startTimeoutMs = startTimeout(flags, 'onceward run --help')
    const consumer = await loadConsumer(file, { policy: flags.policy })
    const isChild = process.env[supervised] !== undefined
    let running: Running | null = null
    const answer = isChild
      ? answerSupervisor(consumer.isolation.deadlineMs, () => {
          if (running !== null) running.drain(drainMs).catch(() => {})
          else if (!process.emit('SIGTERM', 'SIGTERM')) process.exit(1)
        })
      : null
    const store = await loadStore(file)
    if (!isChild) endWithNpm()
    const supervises = consumer.isolation.mode === 'child' && !isChild
    const signals = supervises ? null : onSignals()
    const server = supervises ? null : await serveMetrics(flags, log)
    const database = await openDatabase(log, { embedded: flags.embedded === true && !isChild })
    try {
      if (supervises) {
        process.exitCode = await superviseRun(consumer.isolation, database.url, log)
        return
      }
      running = await runConsumer(consumer, {
        databaseUrl: database.url,
        ...(store && { store }),
        ...serverAddresses(),
        archiveFolder: process.env.ONCEWARD_ARCHIVE_FOLDER,
        mode: flags.mode,
        isolated: isChild,
        startTimeoutMs,
        signal: signals!.starting,
        ...(flags.part && { parts: flags.part }),
        gaugesMaxAgeMs,
        env: realEnvironment({ log, meter: server?.meter }),
      })
      server?.watch(running.health)
      signals!.running(running, drainMs)
      await running.finished
      const tally = running.consumer?.tally
      const worked = running.worker?.tally.outcomes
      print(
        json,
        { ok: true, ...tally, ...(worked && { worked }) },
        () =>
          `stopped: ${JSON.stringify(tally?.outcomes ?? {})}${worked ? `, workers: ${JSON.stringify(worked)}` : ''}`,
      )
    } finally {
      await store?.close?.()
      await database.close()
      await server?.close()
      answer?.ending()
    }
  })
}

/** Runs the same command in a child process, and restarts it when it crashes. */
function superviseRun(
  { deadlineMs, memoryMaxMb }: Consumer['isolation'],
  databaseUrl: string,
  log: Log,
): Promise<number> {
  return supervise({
    program: process.argv[1]!,
    args: process.argv.slice(2),
    environment: { ONCEWARD_DATABASE_URL: databaseUrl },
    deadlineMs,
    memoryMaxMb,
    log,
  })
}
