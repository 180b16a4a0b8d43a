import { Command } from 'commander'
import type { RedriveSummary } from '../../../drivers/postgres/parking/read-redrives.ts'
import { listRedrives } from '../../../operations/parking/list-redrives.ts'
import { withPool } from '../../database.ts'
import { oneLine, print } from '../../output.ts'
import { table } from '../../table.ts'
import { wholeNumber } from '../../whole-number.ts'
import { lister } from './flags.ts'

export function redrivesCommand(): Command {
  return new Command('redrives')
    .description('list redrives with their names, newest first; those of a console too')
    .option('--consumer <name>', "only this consumer's")
    .option('--limit <count>', 'maximum number of redrives', '50')
    .option('--json', 'print one JSON object')
    .action((flags: { json?: boolean; consumer?: string; limit: string }) =>
      withPool(flags.json === true, async pool => {
        const countMax = wholeNumber(flags.limit, '--limit', lister)
        const consumers = flags.consumer === undefined ? undefined : [flags.consumer]
        const redrives = await listRedrives(pool, { consumers, countMax })
        print(flags.json === true, { ok: true, redrives }, () => redrivesText(redrives))
      }),
    )
}

function redrivesText(redrives: readonly RedriveSummary[]): string {
  if (redrives.length === 0) return 'There are no redrives.'
  const rows = redrives.map(one => [
    one.requestId,
    one.consumer,
    one.state,
    one.selected,
    one.moved,
    one.behind,
    one.left,
    one.by,
    one.at.toISOString().slice(0, 19),
    one.because,
  ])
  const heads = ['redrive', 'consumer', 'state', 'selected', 'moved', 'behind', 'left', 'by', 'at', 'because']
  const unfinished = redrives.find(({ state }) => state !== 'moved') ?? redrives[0]!
  return `${table(heads, rows)}\n\nnext: ${nextOf(unfinished)}`
}

/** A redrive whose process ended stays `moving`; the same name continues it. */
function nextOf({ requestId, consumer, state }: RedriveSummary): string {
  const id = oneLine(requestId)
  if (state === 'moved') return `onceward parked result ${id}`
  const again = `onceward parked redrive --id ${id} --consumer ${oneLine(consumer)} --ramp --because …`
  if (state === 'stopped') return again
  return `onceward parked result ${id} --watch\n  or, if its process has ended: ${again}`
}
