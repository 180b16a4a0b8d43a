import { Command, type CommanderError, Help, type Option } from 'commander'
import { OncewardError } from '../errors.ts'
import { packageVersion } from './version.ts'

/**
 * In the order of the help. Each command is loaded on use: all together are 500 modules, and loading them
 * takes half the time of a short command.
 */
const commands: Readonly<Record<string, () => Promise<Command>>> = {
  init: async () => (await import('./commands/init.ts')).initCommand(),
  migrate: async () => (await import('./commands/migrate.ts')).migrateCommand(),
  run: async () => (await import('./commands/run.ts')).runCommand(),
  relay: async () => (await import('./commands/relay.ts')).relayCommand(),
  status: async () => (await import('./commands/status.ts')).statusCommand(),
  explain: async () => (await import('./commands/explain.ts')).explainCommand(),
  work: async () => (await import('./commands/work.ts')).workCommand(),
  parked: async () => (await import('./commands/parked.ts')).parkedCommand(),
  audit: async () => (await import('./commands/audit.ts')).auditCommand(),
  brakes: async () => (await import('./commands/brakes.ts')).brakesCommand(),
  losses: async () => (await import('./commands/losses.ts')).lossesCommand(),
  ledger: async () => (await import('./commands/ledger.ts')).ledgerCommand(),
  replay: async () => (await import('./commands/replay.ts')).replayCommand(),
  retention: async () => (await import('./commands/retention.ts')).retentionCommand(),
  restore: async () => (await import('./commands/restore.ts')).restoreCommand(),
  consumers: async () => (await import('./commands/consumers.ts')).consumersCommand(),
  brokers: async () => (await import('./commands/brokers.ts')).brokersCommand(),
  outbox: async () => (await import('./commands/outbox.ts')).outboxCommand(),
  destinations: async () => (await import('./commands/destinations.ts')).destinationsCommand(),
  contract: async () => (await import('./commands/contract.ts')).contractCommand(),
  check: async () => (await import('./commands/check.ts')).checkCommand(),
  verify: async () => (await import('./commands/verify.ts')).verifyCommand(),
  alerts: async () => (await import('./commands/alerts.ts')).alertsCommand(),
  dashboard: async () => (await import('./commands/dashboard.ts')).dashboardCommand(),
  console: async () => (await import('./commands/console.ts')).consoleCommand(),
  runbook: async () => (await import('./commands/runbook.ts')).runbookCommand(),
}

/**
 * The `onceward` command, with one of its commands or with all. Invalid usage is one error with exit code 2
 * and changes nothing.
 */
export async function createProgram(asked?: string): Promise<Command> {
  const loaded = asked !== undefined && Object.hasOwn(commands, asked) ? [asked] : Object.keys(commands)
  const program = new Command('onceward')
    .description('A message may arrive many times. Its effect happens once.')
    .version(packageVersion)
    .showSuggestionAfterError()
    .addHelpText(
      'after',
      `
Environment:
  ONCEWARD_DATABASE_URL             PostgreSQL. If unset, commands attach to a running embedded server in .onceward/, and start none
  ONCEWARD_DATABASE_URL_FILE        file that contains this address
  ONCEWARD_RABBITMQ_URL             RabbitMQ, for contracts that read its queues or publish to it; several nodes as amqp://user:password@a,b:5673,c/vhost
  ONCEWARD_RABBITMQ_STREAM_URL      RabbitMQ's stream port, for contracts that read its streams; several nodes likewise
  ONCEWARD_RABBITMQ_MANAGEMENT_URL  management plugin, used to read how long queues and streams keep messages
  ONCEWARD_KAFKA_BOOTSTRAP          Kafka, for contracts that read from it or publish to it: host:port,host:port
  ONCEWARD_RABBITMQ_CLUSTER         a name for that RabbitMQ cluster, instead of the one it announces
  ONCEWARD_KAFKA_CLUSTER            a name for that Kafka cluster, instead of its id
  ONCEWARD_RABBITMQ_CA_FILE         CA certificates for RabbitMQ over TLS; also …_CERT_FILE, …_KEY_FILE: docs/security.md
  ONCEWARD_KAFKA_CA_FILE            the same for Kafka; ONCEWARD_KAFKA_TLS=true uses Node's CA certificates
  ONCEWARD_KAFKA_SASL_MECHANISM     SASL mechanism for Kafka, with …_SASL_USERNAME and …_SASL_PASSWORD
  ONCEWARD_POLICY                   policy file (default: onceward.yaml beside the consumer)
  ONCEWARD_ARCHIVE_FOLDER           folder for rows that retention archives
  ONCEWARD_METRICS_PORT             port on which run and relay serve /metrics, /livez and /readyz; off: none
  ONCEWARD_LOG_LEVEL                every option of run and relay has such a variable: --log-level, ONCEWARD_JSON=true, ONCEWARD_DRAIN=20
  ONCEWARD_PREPARE                  prepare repeated statements of handlers: auto (not behind a pooler), always, never
  ONCEWARD_ENVIRONMENT              refuse the database of another environment, in every command
  ONCEWARD_DEBUG                    any value: print unexpected errors with their stack`,
    )
  for (const command of await Promise.all(loaded.map(name => commands[name]!()))) {
    program.addCommand(command)
    prepare(command, `onceward ${command.name()}`)
    for (const one of command.commands) prepare(one, `onceward ${command.name()} ${one.name()}`)
  }
  return prepare(program, 'onceward')
}

function prepare(command: Command, path: string): Command {
  return command
    .exitOverride(error => refuse(error, path))
    .configureOutput({ writeErr: () => {} })
    .configureHelp({ visibleOptions: requiredFirst, optionDescription: markRequired })
}

function requiredFirst(this: Help, command: Command): Option[] {
  const options = Help.prototype.visibleOptions.call(this, command)
  return options.toSorted((a, b) => Number(b.mandatory) - Number(a.mandatory))
}

function markRequired(this: Help, option: Option): string {
  const description = Help.prototype.optionDescription.call(this, option)
  return option.mandatory ? `${description} (required)` : description
}

function refuse(error: CommanderError, path: string): never {
  if (error.exitCode === 0) process.exit(0)
  throw new OncewardError(
    'usage',
    `${error.message.replace(/^error: |\.$/g, '')}. Nothing was done; see "${path} --help".`,
  )
}
