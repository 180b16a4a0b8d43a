import { Command } from 'commander'
import { durationMs } from '../../contract/duration.ts'
import { OncewardError } from '../../errors.ts'
import {
  holdUpDefaultMs,
  type PartitionPlan,
  partitionConsumer,
  planPartition,
} from '../../operations/retention/partition-consumer.ts'
import { loadConsumer, policyHelp } from '../../runtime/load-consumer.ts'
import { withPool } from '../database.ts'
import { print } from '../output.ts'

interface Flags {
  readonly consumer: string
  readonly dryRun?: boolean
  readonly holdUp?: string
  readonly policy?: string
  readonly json?: boolean
}

export function partitionCommand(): Command {
  return new Command('partition')
    .description('move the markers of a consumer into daily partitions, which retention then drops whole')
    .argument('<file>', 'module whose default export is a consumer')
    .requiredOption('--consumer <name>', 'consumer name, as confirmation')
    .option('--dry-run', 'show what would move, change nothing')
    .option('--hold-up <duration>', 'how long all consumers may be blocked. Default 5s')
    .option('--policy <file>', policyHelp)
    .option('--json', 'print one JSON object')
    .action(async (file: string, flags: Flags) => {
      const json = flags.json === true
      const consumer = await loadConsumer(file, { policy: flags.policy })
      if (flags.consumer !== consumer.name)
        throw new OncewardError(
          'usage',
          `The file exports consumer ${consumer.name}, not "${flags.consumer}". Nothing was changed.`,
        )
      const holdUpMaxMs = holdUpOf(flags)
      await withPool(json, async pool => {
        if (flags.dryRun === true) {
          const plan = await planPartition(pool, consumer)
          return print(json, { ok: true, dryRun: true, ...plan }, () => planText(consumer.name, plan))
        }
        const result = await partitionConsumer(pool, consumer, { holdUpMaxMs })
        print(json, { ok: true, ...result }, () =>
          result.already
            ? `the markers of ${consumer.name} are already in daily partitions`
            : `the markers of ${consumer.name} are in daily partitions: ${result.moved} moved. Restart its processes and those of other consumers when convenient: until then they park and defer more slowly`,
        )
      })
    })
}

function holdUpOf({ holdUp }: Flags): number {
  if (holdUp === undefined) return holdUpDefaultMs
  const ms = durationMs(holdUp)
  if (ms !== null && ms > 0) return ms
  throw new OncewardError(
    'usage',
    `--hold-up must be a duration such as 30s, not "${holdUp}". Nothing was changed.`,
  )
}

function planText(name: string, { already, markers, othersBytes }: PartitionPlan): string {
  if (already) return `the markers of ${name} are already in daily partitions`
  return `${markers} markers of ${name} would move; ${(othersBytes / 1e6).toFixed(1)} MB of other markers would be scanned while all consumers wait`
}
