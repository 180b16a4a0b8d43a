import { Command, Option } from 'commander'
import { type DemoBroker, demoBrokers } from '../../demo/settings.ts'

export function demoCommand(): Command {
  return new Command('demo')
    .description('payments under duplicates, conflicts and kill -9, with a verdict computed from outside')
    .addOption(new Option('--broker <broker>').choices([...demoBrokers]).default('postgres'))
    .option('--messages <count>', 'how many messages to produce, duplicates included', '8000')
    .option('--seed <number>', 'repeat the messages and the planned kills of an earlier run')
    .option('--json', 'end with one JSON object on the last line')
    .action(async (options: { broker: DemoBroker; messages: string; seed?: string; json?: boolean }) => {
      const { runDemo } = await import('../../demo/run-demo.ts')
      process.exitCode = await runDemo({
        broker: options.broker,
        messages: Number(options.messages),
        ...(options.seed !== undefined && { seed: Number(options.seed) }),
        json: options.json === true,
      })
    })
}
