import { readFileSync } from 'node:fs'
import { Command } from 'commander'
import { errorCode, OncewardError } from '../../../errors.ts'
import type { DiffLine } from '../../../operations/parking/diff-lines.ts'
import { type Fixed, fixPayload, noteStateFixed } from '../../../operations/parking/fix-parked.ts'
import { loadConsumer } from '../../../runtime/load-consumer.ts'
import { withPool } from '../../database.ts'
import { print, safe } from '../../output.ts'
import { rowNumber } from '../../whole-number.ts'
import { lister } from './flags.ts'

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
      'replace the payload of a message, or note another fix; then redrive it. With risk money or regulatory, a second person approves the payload',
    )
    .argument('<id>', 'id, from "onceward parked list"')
    .requiredOption('--consumer <name>', 'consumer name, as confirmation')
    .requiredOption('--because <reason>', 'reason, recorded in the audit')
    .option('--payload <file>', 'file with the new bytes; without it, only the note is recorded')
    .option('--contract <file>', 'consumer file that decodes the new bytes; required with --payload')
    .option('--dry-run', 'show the diff, change nothing')
    .option('--json', 'print one JSON object')
    .action((id: string, flags: FixFlags) =>
      withPool(flags.json === true, async pool => {
        rowNumber(id, 'id', lister)
        const json = flags.json === true
        if (flags.payload === undefined) {
          if (flags.dryRun === true)
            return print(json, { ok: true, dryRun: true }, () => 'A note would be recorded.')
          await noteStateFixed(pool, { id, consumer: flags.consumer, because: flags.because })
          return print(json, { ok: true }, () => `Noted. Redrive ${id} now.`)
        }
        const { payload, contract, because, dryRun } = flags
        const consumer = await contractOf(contract, flags.consumer)
        const fixed = await fixPayload(pool, consumer, {
          id,
          body: readPayload(payload),
          because,
          dryRun: dryRun === true,
        })
        const next = dryRun === true ? 'Nothing was changed.' : nextStep(id, fixed)
        print(json, { ok: true, dryRun: dryRun === true, ...fixed }, () => `${diffText(fixed.diff)}\n${next}`)
      }),
    )
}

function nextStep(id: string, { approval }: Fixed): string {
  if (approval === null) return `Fixed. Redrive ${id} now.`
  return `Fixed. A second person must approve it before it can be redriven:\n  onceward parked approve ${approval.id} --expect ${approval.digest} --because '…'`
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
      'Pass --contract: the contract decodes the new bytes and checks that the identities are unchanged.',
    )
  const consumer = await loadConsumer(file)
  if (consumer.name !== named) refuse(`${file} exports consumer "${consumer.name}", not "${named}".`)
  return consumer
}

function diffText(diff: readonly DiffLine[] | null): string {
  if (diff === null) return 'The payloads are not text, or too long to compare.'
  return diff.map(({ sign, text }) => `${sign} ${safe(text)}`).join('\n')
}
