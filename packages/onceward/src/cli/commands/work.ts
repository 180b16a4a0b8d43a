import { Command, Option } from 'commander'
import { releaseHeld } from '../../operations/work/release-held.ts'
import { type HeldDetails, type HeldWork, heldStates, listHeld, showHeld } from '../../telemetry/held-work.ts'
import { type ActFlags, actOptions } from '../act-flags.ts'
import { withPool } from '../database.ts'
import { print, safe } from '../output.ts'
import { table } from '../table.ts'
import { rowNumber, wholeNumber } from '../whole-number.ts'
import { originText } from './parked/parked-table.ts'

const lister = 'onceward work list'

interface Flags {
  json?: boolean
}

/** Held messages: stored, waiting, parked, dead or quarantined. */
export function workCommand(): Command {
  return new Command('work')
    .description('stored and held work: list it, show one message, release one')
    .addCommand(listCommand())
    .addCommand(showCommand())
    .addCommand(releaseCommand())
}

function listCommand(): Command {
  return new Command('list')
    .description('list held work, oldest first')
    .option('--consumer <name>', "only this consumer's")
    .addOption(new Option('--state <state>', 'only in this state').choices(heldStates))
    .option('--limit <count>', 'maximum number of rows', '50')
    .option('--json', 'print one JSON object')
    .action(async (flags: Flags & { consumer?: string; state?: string; limit: string }) => {
      const countMax = wholeNumber(flags.limit, '--limit', lister)
      await withPool(flags.json === true, async pool => {
        const work = await listHeld(pool, { consumer: flags.consumer, state: flags.state, countMax })
        print(flags.json === true, { ok: true, work }, () => workTable(work))
      })
    })
}

function showCommand(): Command {
  return new Command('show')
    .description('show one held message with its body, attempts and acts')
    .argument('<id>', 'row id, from "onceward work list"')
    .option('--json', 'print one JSON object')
    .action(async (id: string, flags: Flags) => {
      rowNumber(id, 'id', lister)
      await withPool(flags.json === true, async pool => {
        const work = await showHeld(pool, id)
        print(flags.json === true, { ok: true, work }, () => details(work))
      })
    })
}

function releaseCommand(): Command {
  const command = new Command('release')
    .description(
      'make a message due now: end its lease, wait or delay, or redrive it with its key if it is parked',
    )
    .argument('<id>', 'row id, from "onceward work list"')
    .option('--leases <count>', "lease count from 'work show'; refused if a worker has leased the row since")
  return actOptions(command).action(
    async (id: string, { leases, ...flags }: ActFlags & { leases?: string }) => {
      rowNumber(id, 'id', lister)
      const seen = leases === undefined || leases === '0' ? leases : wholeNumber(leases, '--leases', lister)
      await withPool(flags.json === true, async pool => {
        const { released, from } = await releaseHeld(pool, {
          ...flags,
          id,
          leases: seen === undefined ? seen : Number(seen),
        })
        print(
          flags.json === true,
          { ok: true, released, from },
          () => `Released ${released} ${released === 1 ? 'message' : 'messages'} (row ${id} was ${from}).`,
        )
      })
    },
  )
}

function workTable(work: readonly HeldWork[]): string {
  if (work.length === 0) return 'No work is held.'
  return table(
    [
      'id',
      'consumer',
      'state',
      'next',
      'message',
      'key',
      'age, s',
      'leases',
      'leased at',
      'attempts',
      'from',
      'code',
      'reason',
    ],
    work.map(w => [
      w.id,
      w.consumer,
      w.state,
      w.next,
      w.messageId,
      w.key,
      w.ageSeconds.toFixed(1),
      w.leases,
      w.leasedAt?.toISOString() ?? '',
      w.attempts,
      originText(w),
      w.code,
      w.reason.slice(0, 60),
    ]),
  )
}

function details({ history, actions, body, headers, properties, ...facts }: HeldDetails): string {
  return [
    table(['fact', 'value'], Object.entries(facts)),
    `\nheaders\n  ${safe(JSON.stringify(headers))}\nproperties\n  ${safe(JSON.stringify(properties))}`,
    `body\n${safe(body)}`,
    `\nattempts\n${table(
      ['number', 'at', 'class', 'code', 'error'],
      history.map(h => [h.number, h.at.toISOString(), h.failureClass, h.code, h.error]),
    )}`,
    `\nactions\n${table(
      ['at', 'by', 'did', 'because'],
      actions.map(a => [a.at.toISOString(), a.by, a.did, a.because]),
    )}`,
  ].join('\n')
}
