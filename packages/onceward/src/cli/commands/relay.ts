import { Command, Option } from 'commander'
import type { LogLevel } from '../../environment.ts'
import { type RelayedBroker, runRelay } from '../../outbox.ts'
import { endWithNpm } from '../../runtime/end-with-npm.ts'
import { startObserveServer } from '../../runtime/observe-server.ts'
import { realEnvironment } from '../../runtime/real-environment.ts'
import { openDatabase } from '../database.ts'
import { fromEnvironment } from '../from-environment.ts'
import { consoleLog, print } from '../output.ts'
import { addMetricsOptions, type MetricsFlags, serveMetrics } from '../serve-metrics.ts'
import { serverAddresses } from '../server-addresses.ts'
import { onSignals } from '../signals.ts'
import { secondsMs, startTimeout } from '../whole-number.ts'

interface RelayFlags extends MetricsFlags {
  json?: boolean
  logLevel: LogLevel
  broker: RelayedBroker[]
  cdcKeep: string
  drain: string
  startTimeout?: string
  embedded?: boolean
}

export function relayCommand(): Command {
  const command = new Command('relay')
    .description(
      'publish the outbox to its brokers, for producers without a consumer, until SIGTERM or Ctrl-C',
    )
    .addOption(
      new Option('--broker <broker...>', 'only rows for these brokers')
        .choices(['kafka', 'rabbitmq', 'postgres', 'cdc'])
        .makeOptionMandatory(),
    )
    .option('--cdc-keep <seconds>', 'how long to keep rows for change data capture', '3600')
    .option('--drain <seconds>', 'how long to wait for confirms after SIGTERM', '25')
    .option(
      '--start-timeout <seconds>',
      'how long to wait at start for an unreachable database or broker (default: no limit)',
    )
    .option(
      '--embedded',
      'without ONCEWARD_DATABASE_URL: start a PostgreSQL server in .onceward/ of this folder, for evaluation',
    )
    .option('--json', 'log lines as JSON')
  command.addOption(
    new Option('--log-level <level>', 'lowest level that is logged')
      .choices(['debug', 'info', 'warn', 'error'])
      .default('info'),
  )
  return fromEnvironment(addMetricsOptions(command)).action(async (flags: RelayFlags) => {
    const json = flags.json === true
    const log = consoleLog(json, flags.logLevel)
    const help = 'onceward relay --help'
    const drainMs = secondsMs(flags.drain, '--drain', help)
    const cdcKeepMs = secondsMs(flags.cdcKeep, '--cdc-keep', help)
    const startTimeoutMs = startTimeout(flags, help)
    endWithNpm()
    const signals = onSignals()
    const server = await serveMetrics(flags, log, startObserveServer)
    const database = await openDatabase(log, { embedded: flags.embedded === true })
    try {
      const relay = await runRelay({
        databaseUrl: database.url,
        brokers: flags.broker,
        ...serverAddresses(),
        cdcKeepMs,
        startTimeoutMs,
        signal: signals.starting,
        env: realEnvironment({ log, meter: server?.meter }),
      })
      server?.watch(relay.health)
      signals.running(relay, drainMs)
      await relay.finished
      print(json, { ok: true }, () => 'stopped')
    } finally {
      await database.close()
      await server?.close()
    }
  })
}
