import { Command } from 'commander'
import type { Exposure } from '../../drivers/postgres/server/read-incarnations.ts'
import {
  acceptServer,
  declareServer,
  type RestoreView,
  readRestore,
} from '../../operations/server/incarnations.ts'
import { withPool } from '../database.ts'
import { counted, oneLine, print, table } from '../output.ts'
import { passJson } from '../pass-json.ts'
import { wholeNumber } from '../whole-number.ts'

interface Flags {
  json?: boolean
}

/** After a failover or a restore: what may be lost, and the word that lets consumers go on. */
export function restoreCommand(): Command {
  return new Command('restore')
    .description(
      'after a failover or a restore from backup: what may be lost, by consumer, and what brings it back',
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
    .description('stop every consumer: this copy is an older one, although nothing in it shows that')
    .requiredOption('--because <reason>', 'why; it is recorded')
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
    .description('let consumers go on with this copy; logs are read again from what it knows')
    .argument('<number>', 'of what waits, from "onceward restore"')
    .requiredOption('--because <reason>', 'why; it is recorded')
    .option('--dry-run', 'change nothing')
    .option('--json', 'print one JSON object')
    .action(async (typed: string, flags: Flags & { because: string; dryRun?: boolean }) => {
      const id = wholeNumber(typed, 'what waits', 'onceward restore')
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
            `Accepted. Start the consumers again: ${counted(partitionsSetBack, 'partition')} read from what this copy knows, and what it has is recognised.`,
        )
      })
    })
}

function viewText({ inRecovery, open, incarnations, exposures }: RestoreView): string {
  if (inRecovery) return 'This is a standby. Ask the primary: nothing is decided here.'
  const head = incarnations[0]
  if (open === null)
    return `Nothing waits. Timeline ${head?.timeline ?? 'unknown'} was accepted by ${oneLine(head?.acceptedBy ?? 'nobody')} on ${head?.acceptedAt?.toISOString() ?? 'no day'}: ${oneLine(head?.acceptedBecause ?? '')}`
  const since = open.completeUntil?.toISOString() ?? 'an unknown time'
  return [
    `Number ${open.id}: ${oneLine(open.why)}.`,
    `Timeline ${open.timeline ?? 'unknown'} of system ${open.systemIdentifier ?? 'unknown'}, noticed ${open.detectedAt.toISOString()}.`,
    `What was committed before ${since} is here. What was settled after it may be lost:`,
    '',
    exposureTable(exposures),
    '',
    ...advice(exposures),
    `Then: onceward restore accept ${open.id} --because …`,
  ].join('\n')
}

function exposureTable(exposures: readonly Exposure[]): string {
  if (exposures.length === 0) return 'No consumer is known to this copy.'
  return table(
    ['consumer', 'reads', 'group', 'begins again'],
    exposures.map(one => [
      one.consumer,
      `${one.kind} ${one.place}`,
      one.reader,
      one.keeper === 'queue'
        ? 'nowhere: a queue forgets what was settled'
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
        `${oneLine(consumer)}: have the producers of ${oneLine(place)} send that time again from their outbox or archive, or: onceward replay create <file> --mode backfill --file <archive.jsonl> --never-live --because … What is here is recognised.`,
    ),
    ...calling.map(
      ({ consumer, targets }) =>
        `${oneLine(consumer)}: calls to ${oneLine(targets.join(', '))} that this copy does not know of are made again under their keys. Where a target knows no keys, compare with it before you accept.`,
    ),
  ]
}
