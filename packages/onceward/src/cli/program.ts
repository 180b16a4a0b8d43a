import { Command, type CommanderError } from 'commander'
import { OncewardError } from '../errors.ts'
import { demoCommand } from './commands/demo.ts'
import { migrateCommand } from './commands/migrate.ts'
import { runCommand } from './commands/run.ts'
import { statusCommand } from './commands/status.ts'

/** The `onceward` command. Wrong use ends in one error with exit code 2 and changes nothing. */
export function createProgram(): Command {
  const program = new Command('onceward')
    .description('A message may arrive many times. Its effect happens once.')
    .version('0.1.0')
    .showSuggestionAfterError()
    .addHelpText(
      'after',
      `
Environment:
  ONCEWARD_DATABASE_URL         PostgreSQL; without it an embedded server is started in .onceward/
  ONCEWARD_RABBITMQ_URL         RabbitMQ, for contracts that read from it
  ONCEWARD_RABBITMQ_STREAM_URL  its stream protocol, for contracts that read streams
  ONCEWARD_ENVIRONMENT          refuse to touch the database of another environment`,
    )
  for (const command of [migrateCommand(), runCommand(), statusCommand(), demoCommand()]) {
    program.addCommand(command)
    command.exitOverride(refuse).configureOutput({ writeErr: () => {} })
  }
  return program.exitOverride(refuse).configureOutput({ writeErr: () => {} })
}

function refuse(error: CommanderError): never {
  if (error.exitCode === 0) process.exit(0)
  throw new OncewardError(
    'usage',
    `${error.message.replace(/^error: /, '')}. Nothing was done; see "onceward --help".`,
  )
}
