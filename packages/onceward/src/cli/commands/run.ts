import { Command, Option } from 'commander'
import { isTransform, type Transform } from '../../contract/define-transform.ts'
import { OncewardError } from '../../errors.ts'
import { childNumber } from '../../runtime/child-process.ts'
import { endWithNpm } from '../../runtime/end-with-npm.ts'
import { type Loaded, loadContract, policyHelp } from '../../runtime/load-consumer.ts'
import { fromEnvironment } from '../from-environment.ts'
import { consoleLog } from '../output.ts'
import { addMetricsOptions } from '../serve-metrics.ts'
import { processCount } from '../whole-number.ts'
import { type LoadedFile, type RunFlags, runHelp, runHere } from './run/run-here.ts'
import { runSupervised } from './run/run-supervised.ts'
import { runTransformHere } from './run/run-transform-here.ts'

export function runCommand(): Command {
  const command = new Command('run')
    .description(
      'run consumers with their dispatchers and relays, or a Kafka transform, until SIGTERM or Ctrl-C',
    )
    .argument('<files...>', 'modules whose default export is a consumer; or one that exports a transform')
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
    .option(
      '--drain <seconds>',
      "how long to wait for running work after SIGTERM: shorter than the supervisor's grace period",
      '25',
    )
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
  return fromEnvironment(addMetricsOptions(command)).action(async (files: string[], flags: RunFlags) => {
    const child = childNumber()
    const log = consoleLog(flags.json === true, flags.logLevel)
    const processes = processCount(flags.processes, runHelp)
    const contracts: { file: string; loaded: Loaded }[] = []
    for (const file of files)
      contracts.push({ file, loaded: await loadContract(file, { policy: flags.policy }) })
    const [first] = contracts
    if (contracts.length === 1 && isTransform(first!.loaded))
      return runTransformHere(first!.loaded as Transform, flags, log)
    const consumers = contracts.map(asConsumer)
    assertTogether(consumers)
    if (child !== null) return runHere(consumers, flags, log, child)
    endWithNpm()
    const { isolation } = consumers[0]!.consumer
    if (processes > 1 || isolation.mode === 'child')
      process.exitCode = await runSupervised({ isolation }, flags, log, processes)
    else await runHere(consumers, flags, log, null)
  })
}

function asConsumer({ file, loaded }: { file: string; loaded: Loaded }): LoadedFile {
  if (!isTransform(loaded)) return { file, consumer: loaded }
  throw new OncewardError(
    'usage',
    `${file} exports a transform, which runs in a process of its own. Nothing was started.`,
  )
}

function assertTogether(consumers: readonly LoadedFile[]): void {
  const names = consumers.map(({ consumer }) => consumer.name)
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined) throw new OncewardError('usage', `${twice} is named twice. Nothing was started.`)
  const isolated = consumers.find(({ consumer }) => consumer.isolation.mode === 'child')
  if (isolated !== undefined && consumers.length > 1)
    throw new OncewardError(
      'usage',
      `${isolated.consumer.name} declares isolation.mode 'child', so it needs a process of its own: run ${isolated.file} alone. Nothing was started.`,
    )
}
