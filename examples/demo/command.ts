import { Command, type CommanderError, Option } from 'commander'
import { OncewardError } from 'onceward'
import { type DemoBroker, demoBrokers } from './settings.ts'

interface Flags {
  broker: DemoBroker
  messages: string
  seed?: string
  json?: boolean
  console?: boolean
}

/** Invalid options are reported as one error, and nothing starts. */
export function demoCommand(): Command {
  return new Command('npm run demo --')
    .description('payments under duplicates, conflicts and kill -9, with an independently computed verdict')
    .addOption(new Option('--broker <broker>').choices([...demoBrokers]).default('postgres'))
    .option('--messages <count>', 'how many messages to produce, duplicates included', '8000')
    .option('--seed <number>', 'repeat the messages and the planned kills of an earlier run')
    .option('--console', 'show the run in the browser, and stay until Ctrl-C')
    .option('--json', 'end with one JSON object on the last line')
    .exitOverride(refuse)
    .configureOutput({ writeErr: () => {} })
    .action(async (options: Flags) => {
      const { runDemo } = await import('./run-demo.ts')
      process.exitCode = await runDemo({
        broker: options.broker,
        messages: Number(options.messages),
        ...(options.seed !== undefined && { seed: Number(options.seed) }),
        json: options.json === true,
        console: options.console === true,
      })
    })
}

function refuse(error: CommanderError): never {
  if (error.exitCode === 0) process.exit(0)
  throw new OncewardError('usage', `${error.message.replace(/^error: |\.$/g, '')}. Nothing was started.`)
}
