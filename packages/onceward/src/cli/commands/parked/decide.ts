import { readFileSync } from 'node:fs'
import { Command } from 'commander'
import { errorCode, OncewardError } from '../../../errors.ts'
import { classifyParked, skipParked } from '../../../operations/parking/decide-parked.ts'
import type { DiffLine } from '../../../operations/parking/diff-lines.ts'
import { type Fixed, fixPayload, noteStateFixed } from '../../../operations/parking/fix-parked.ts'
import { withPool } from '../../database.ts'
import { loadConsumer } from '../../load-consumer.ts'
import { print, safe } from '../../output.ts'
import { rowNumber } from '../../whole-number.ts'
import { acting, lister } from './flags.ts'
import { type ActFlags, chosen } from './preview.ts'

export function classifyCommand(): Command {
  return new Command('classify')
    .description('give messages a label, a person, a note')
    .argument('<ids...>', 'numbers from "onceward parked list"')
    .requiredOption('--consumer <name>', "the consumer's name, typed again")
    .option('--label <label>', 'a word for them')
    .option('--assignee <person>', 'whose they are')
    .option('--note <text>', 'what is known')
    .option('--json', 'print one JSON object')
    .action(
      (
        ids: string[],
        flags: { json?: boolean; consumer: string; label?: string; assignee?: string; note?: string },
      ) =>
        withPool(flags.json === true, async pool => {
          for (const id of ids) rowNumber(id, 'the number', lister)
          const { rows } = await classifyParked(pool, { ...flags, ids })
          print(flags.json === true, { ok: true, rows }, () => `${rows} classified.`)
        }),
    )
}

export function skipCommand(): Command {
  const command = new Command('skip')
    .description('give messages up with a reason: a declared gap; what waits behind them goes on')
    .argument('[ids...]', 'numbers from "onceward parked list"; or say which by options')
  return acting(command, '1000').action((ids: string[], flags: ActFlags) =>
    withPool(flags.json === true, async pool => {
      const selection = await chosen(pool, ids, flags)
      if (selection === null) return
      const { consumer, because } = flags
      const { closed, freed } = await skipParked(pool, { consumer, because, ...selection })
      print(
        flags.json === true,
        { ok: true, closed, freed },
        () => `${closed} skipped, ${freed} behind them go on.`,
      )
    }),
  )
}

interface FixFlags {
  json?: boolean
  consumer: string
  because: string
  payload?: string
  contract?: string
  dryRun?: boolean
}

export function fixCommand(): Command {
  return new Command('fix')
    .description(
      'replace the payload of a message, or note that something else was mended; then replay it. Where the risk is money or regulatory a second person approves the payload',
    )
    .argument('<id>', 'its number, from "onceward parked list"')
    .requiredOption('--consumer <name>', "the consumer's name, typed again")
    .requiredOption('--because <reason>', 'why; it is recorded')
    .option('--payload <file>', 'the new bytes; without it only the note is made')
    .option('--contract <file>', 'the consumer, which reads the new bytes; needed with --payload')
    .option('--dry-run', 'show the difference, change nothing')
    .option('--json', 'print one JSON object')
    .action((id: string, flags: FixFlags) =>
      withPool(flags.json === true, async pool => {
        rowNumber(id, 'the number', lister)
        const json = flags.json === true
        if (flags.payload === undefined) {
          if (flags.dryRun === true)
            return print(json, { ok: true, dryRun: true }, () => 'A note would be made.')
          await noteStateFixed(pool, { id, consumer: flags.consumer, because: flags.because })
          return print(json, { ok: true }, () => `Noted. Replay number ${id} now.`)
        }
        const { payload, contract, because, dryRun } = flags
        const consumer = await contractOf(contract, flags.consumer)
        const fixed = await fixPayload(pool, consumer, {
          id,
          body: readPayload(payload),
          because,
          dryRun: dryRun === true,
        })
        const said = dryRun === true ? 'Nothing was changed.' : nextStep(id, fixed)
        print(json, { ok: true, dryRun: dryRun === true, ...fixed }, () => `${diffText(fixed.diff)}\n${said}`)
      }),
    )
}

function nextStep(id: string, { approval }: Fixed): string {
  if (approval === null) return `Fixed. Replay number ${id} now.`
  return `Fixed. Somebody else looks at it and approves it, then it may be replayed:\n  onceward parked approve ${approval.id} --expect ${approval.digest} --because '…'`
}

function readPayload(file: string): Buffer {
  try {
    return readFileSync(file)
  } catch (cause) {
    throw new OncewardError('usage', `${file} cannot be read: ${errorCode(cause)}. Nothing was changed.`, {
      cause,
    })
  }
}

async function contractOf(file: string | undefined, named: string) {
  const refuse = (why: string): never => {
    throw new OncewardError('usage', `${why} Nothing was changed.`)
  }
  if (file === undefined)
    return refuse(
      'Give --contract: the contract reads the new bytes, so that the identities stay what they are.',
    )
  const consumer = await loadConsumer(file)
  if (consumer.name !== named) refuse(`${file} is consumer "${consumer.name}", not "${named}".`)
  return consumer
}

function diffText(diff: readonly DiffLine[] | null): string {
  if (diff === null) return 'The difference is no text, or too long to show.'
  return diff.map(({ sign, text }) => `${sign} ${safe(text)}`).join('\n')
}
