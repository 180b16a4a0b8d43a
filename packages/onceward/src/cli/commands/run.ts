import { Command, Option } from 'commander'
import { isTransform, type Transform } from '../../contract/define-transform.ts'
import { childNumber } from '../../runtime/child-process.ts'
import { endWithNpm } from '../../runtime/end-with-npm.ts'
import { loadContract, policyHelp } from '../../runtime/load-consumer.ts'
import { consoleLog } from '../output.ts'
import { addMetricsOptions } from '../serve-metrics.ts'
import { processCount } from '../whole-number.ts'
import { type RunFlags, runHelp, runHere } from './run/run-here.ts'
import { runSupervised } from './run/run-supervised.ts'
import { runTransformHere } from './run/run-transform-here.ts'

export function runCommand(): Command {
  const command = new Command('run')
    .description(
      'run a consumer with its dispatcher and relay, or a Kafka transform, until SIGTERM or Ctrl-C',
    )
    .argument('<file>', 'module whose default export is a consumer or a transform')
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
    .option(
      '--processes <count>',
      'run this many supervised processes, or "auto" for one per core; they share partitions, memory and one metrics page',
      '1',
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
    const child = childNumber()
    const log = consoleLog(flags.json === true, flags.logLevel)
    const processes = processCount(flags.processes, runHelp)
    const consumer = await loadContract(file, { policy: flags.policy })
    if (isTransform(consumer)) return runTransformHere(consumer as Transform, flags, log)
    if (child !== null) return runHere(file, consumer, flags, log, child)
    endWithNpm()
    if (processes > 1 || consumer.isolation.mode === 'child')
      process.exitCode = await runSupervised(consumer, flags, log, processes)
    else await runHere(file, consumer, flags, log, null)
  })
}
