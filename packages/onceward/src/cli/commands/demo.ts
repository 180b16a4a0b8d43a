import { Command, Option } from 'commander'

export function demoCommand(): Command {
  return new Command('demo')
    .description('payments under duplicates, conflicts and kill -9, with a verdict computed from outside')
    .addOption(new Option('--broker <broker>').choices(['postgres', 'rabbitmq']).default('postgres'))
    .option('--messages <count>', 'how many payment requests to produce', '20000')
    .option('--json', 'end with one JSON object on the last line')
    .action(async (options: { broker: 'postgres' | 'rabbitmq'; messages: string; json?: boolean }) => {
      const { runDemo } = await import('../../demo/run-demo.ts')
      process.exitCode = await runDemo({
        broker: options.broker,
        messages: Number(options.messages),
        json: options.json === true,
      })
    })
}
