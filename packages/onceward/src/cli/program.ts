import { Command, type CommanderError } from 'commander'
import { OncewardError } from '../errors.ts'
import { alertsCommand } from './commands/alerts.ts'
import { auditCommand } from './commands/audit.ts'
import { brokersCommand } from './commands/brokers.ts'
import { checkCommand } from './commands/check.ts'
import { consumersCommand } from './commands/consumers.ts'
import { contractCommand } from './commands/contract.ts'
import { dashboardCommand } from './commands/dashboard.ts'
import { demoCommand } from './commands/demo.ts'
import { explainCommand } from './commands/explain.ts'
import { inboxCommand } from './commands/inbox.ts'
import { initCommand } from './commands/init.ts'
import { ledgerCommand } from './commands/ledger.ts'
import { lossesCommand } from './commands/losses.ts'
import { migrateCommand } from './commands/migrate.ts'
import { parkedCommand } from './commands/parked.ts'
import { relayCommand } from './commands/relay.ts'
import { replayCommand } from './commands/replay.ts'
import { restoreCommand } from './commands/restore.ts'
import { retentionCommand } from './commands/retention.ts'
import { runCommand } from './commands/run.ts'
import { runbookCommand } from './commands/runbook.ts'
import { statusCommand } from './commands/status.ts'
import { packageVersion } from './version.ts'

/** The `onceward` command. Wrong use ends in one error with exit code 2 and changes nothing. */
export function createProgram(): Command {
  const program = new Command('onceward')
    .description('A message may arrive many times. Its effect happens once.')
    .version(packageVersion)
    .showSuggestionAfterError()
    .addHelpText(
      'after',
      `
Environment:
  ONCEWARD_DATABASE_URL             PostgreSQL; without it an embedded server is started in .onceward/
  ONCEWARD_DATABASE_URL_FILE        a file with that address instead
  ONCEWARD_RABBITMQ_URL             RabbitMQ, for contracts that read its queues or publish to it
  ONCEWARD_RABBITMQ_STREAM_URL      RabbitMQ's stream port, for contracts that read its streams
  ONCEWARD_RABBITMQ_MANAGEMENT_URL  its management plugin, which says how long queues and streams keep messages
  ONCEWARD_KAFKA_BOOTSTRAP          Kafka, for contracts that read from it or publish to it: host:port,host:port
  ONCEWARD_POLICY                   the policy file, where it is not the onceward.yaml beside the consumer
  ONCEWARD_ARCHIVE_FOLDER           where contracts that archive what they forget write to
  ONCEWARD_METRICS_PORT             where run and relay serve /metrics, /livez and /readyz; off: nowhere
  ONCEWARD_ENVIRONMENT              refuse to touch the database of another environment
  ONCEWARD_DEBUG                    any value: errors nobody foresaw are printed with their stack`,
    )
  for (const command of [
    initCommand(),
    migrateCommand(),
    runCommand(),
    relayCommand(),
    statusCommand(),
    explainCommand(),
    inboxCommand(),
    parkedCommand(),
    auditCommand(),
    lossesCommand(),
    ledgerCommand(),
    replayCommand(),
    retentionCommand(),
    restoreCommand(),
    consumersCommand(),
    brokersCommand(),
    contractCommand(),
    checkCommand(),
    alertsCommand(),
    dashboardCommand(),
    runbookCommand(),
    demoCommand(),
  ]) {
    program.addCommand(command)
    for (const one of [command, ...command.commands]) {
      one.exitOverride(refuse).configureOutput({ writeErr: () => {} })
    }
  }
  return program.exitOverride(refuse).configureOutput({ writeErr: () => {} })
}

function refuse(error: CommanderError): never {
  if (error.exitCode === 0) process.exit(0)
  throw new OncewardError(
    'usage',
    `${error.message.replace(/^error: |\.$/g, '')}. Nothing was done; see "onceward --help".`,
  )
}
