import { Command } from 'commander'
import type { Exposure } from '../../drivers/postgres/server/read-incarnations.ts'
import {
  acceptServer,
  declareServer,
  type RestoreView,
  readRestore,
} from '../../operations/server/incarnations.ts'
import { withPool } from '../database.ts'
import { counted, oneLine, print } from '../output.ts'
import { passJson } from '../pass-json.ts'
import { table } from '../table.ts'
import { wholeNumber } from '../whole-number.ts'

interface Flags {
  json?: boolean
}

/** After a failover or a restore: possible losses, and the acts that let consumers continue. */
export function restoreCommand(): Command {
  return new Command('restore')
    .description(
      'after a failover or a restore from backup: possible losses by consumer, and how to recover them',
    )
    .option('--json', 'print one JSON object')
    .hook('preSubcommand', passJson)
    .action((flags: Flags) =>
      withPool(flags.json === true, async pool => {
        const view = await readRestore(pool)
        print(flags.json === true, { ok: view.open === null, ...view }, () => viewText(view))
        if (view.open !== null || view.inRecovery) process.exitCode = 1
      }),
    )
    .addCommand(acceptCommand())
    .addCommand(declareCommand())
}

function declareCommand(): Command {
  return new Command('declare')
    .description(
      'declare that this database is an older copy, when nothing in it shows that; every consumer halts',
    )
    .requiredOption('--because <reason>', 'reason, recorded in the audit')
    .option('--json', 'print one JSON object')
    .action((flags: Flags & { because: string }) =>
      withPool(flags.json === true, async pool => {
        const view = await declareServer(pool, flags.because)
        print(flags.json === true, { ok: true, ...view }, () => viewText(view))
      }),
    )
}

function acceptCommand(): Command {
  return new Command('accept')
    .description('let consumers continue with this copy; logs are read again from its positions')
    .argument('<number>', 'id of the incarnation, from "onceward restore"')
    .requiredOption('--because <reason>', 'reason, recorded in the audit')
    .option('--dry-run', 'change nothing')
    .option('--json', 'print one JSON object')
    .action(async (typed: string, flags: Flags & { because: string; dryRun?: boolean }) => {
      const id = wholeNumber(typed, 'incarnation id', 'onceward restore')
      await withPool(flags.json === true, async pool => {
        if (flags.dryRun) {
          const view = await readRestore(pool)
          return print(flags.json === true, { ok: true, dryRun: true, ...view }, () => viewText(view))
        }
        const { partitionsSetBack } = await acceptServer(pool, id, flags.because)
        print(
          flags.json === true,
          { ok: true, partitionsSetBack },
          () =>
            `Accepted. Start the consumers again: ${counted(partitionsSetBack, 'partition')} will be read from the positions of this copy, and duplicates are recognised.`,
        )
      })
    })
}

function viewText({ inRecovery, open, incarnations, exposures }: RestoreView): string {
  if (inRecovery) return 'This server is a standby. Run the command on the primary.'
  const head = incarnations[0]
  if (open === null)
    return `No incarnation needs acceptance. Timeline ${head?.timeline ?? 'unknown'} was accepted by ${oneLine(head?.acceptedBy ?? 'an unknown login')} on ${head?.acceptedAt?.toISOString() ?? 'an unknown date'}: ${oneLine(head?.acceptedBecause ?? '')}`
  const since = open.completeUntil?.toISOString() ?? 'an unknown time'
  return [
    `Incarnation ${open.id}: ${oneLine(open.why)}.`,
    `Timeline ${open.timeline ?? 'unknown'} of system ${open.systemIdentifier ?? 'unknown'}, detected ${open.detectedAt.toISOString()}.`,
    `Everything committed before ${since} is in this copy. Messages acknowledged later may be lost:`,
    '',
    exposureTable(exposures),
    '',
    ...advice(exposures),
    `Then: onceward restore accept ${open.id} --because …`,
  ].join('\n')
}

function exposureTable(exposures: readonly Exposure[]): string {
  if (exposures.length === 0) return 'This copy knows no consumers.'
  return table(
    ['consumer', 'reads', 'group', 'reads again from'],
    exposures.map(one => [
      one.consumer,
      `${one.kind} ${one.place}`,
      one.reader,
      one.keeper === 'queue'
        ? 'not possible: a queue discards acknowledged messages'
        : one.partitions.map(({ partition, next }) => `${partition}@${next}`).join(' '),
    ]),
  )
}

function advice(exposures: readonly Exposure[]): string[] {
  const queues = exposures.filter(({ keeper, kind }) => keeper === 'queue' && kind !== 'postgres')
  const calling = exposures.filter(({ targets }) => targets.length > 0)
  return [
    ...queues.map(
      ({ consumer, place }) =>
        `${oneLine(consumer)}: have the producers of ${oneLine(place)} publish that period again from their outbox or archive, or run: onceward replay create <file> --mode backfill --file <archive.jsonl> --never-live --because … Duplicates are recognised.`,
    ),
    ...calling.map(
      ({ consumer, targets }) =>
        `${oneLine(consumer)}: calls to ${oneLine(targets.join(', '))} that are missing in this copy are made again with the same idempotency keys. If a target does not support keys, compare with it before you accept.`,
    ),
  ]
}
