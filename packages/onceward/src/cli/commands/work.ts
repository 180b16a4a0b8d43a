import { Command, Option } from 'commander'
import { releaseHeld } from '../../operations/work/release-held.ts'
import { type HeldDetails, type HeldWork, heldStates, listHeld, showHeld } from '../../telemetry/held-work.ts'
import { withPool } from '../database.ts'
import { print, safe, table } from '../output.ts'
import { type SaidFlags, said } from '../said-flags.ts'
import { rowNumber, wholeNumber } from '../whole-number.ts'
import { originText } from './parked/preview.ts'

const lister = 'onceward work list'

interface Flags {
  json?: boolean
}

/** What is held: stored, waiting, parked, dead or quarantined. */
export function workCommand(): Command {
  return new Command('work')
    .description('work kept in the database: list it, look at one, make one due now')
    .addCommand(listCommand())
    .addCommand(showCommand())
    .addCommand(releaseCommand())
}

function listCommand(): Command {
  return new Command('list')
    .description('held work, oldest first')
    .option('--consumer <name>', 'only of this consumer')
    .addOption(new Option('--state <state>', 'only in this state').choices(heldStates))
    .option('--limit <count>', 'how many at most', '50')
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
    .description('one held message with its bytes, its attempts and what people did to it')
    .argument('<id>', 'its number, from "onceward work list"')
    .option('--json', 'print one JSON object')
    .action(async (id: string, flags: Flags) => {
      rowNumber(id, 'the number', lister)
      await withPool(flags.json === true, async pool => {
        const work = await showHeld(pool, id)
        print(flags.json === true, { ok: true, work }, () => details(work))
      })
    })
}

function releaseCommand(): Command {
  const command = new Command('release')
    .description(
      'end its claim, wait or delay, or try it again if it is parked, with all of its key behind it',
    )
    .argument('<id>', 'its number, from "onceward work list"')
    .option(
      '--leases <count>',
      'how often it had been claimed when you looked; refused when a worker took it since',
    )
  return said(command).action(async (id: string, { leases, ...flags }: SaidFlags & { leases?: string }) => {
    rowNumber(id, 'the number', lister)
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
        () => `${released} released from ${from}: a worker takes it up now.`,
      )
    })
  })
}

function workTable(work: readonly HeldWork[]): string {
  if (work.length === 0) return 'Nothing is held.'
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
