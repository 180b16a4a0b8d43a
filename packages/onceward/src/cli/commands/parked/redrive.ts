import { randomUUID } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import { Command } from 'commander'
import type { RedriveReport } from '../../../drivers/postgres/parking/read-redrive.ts'
import type { SqlPool } from '../../../drivers/postgres/pool.ts'
import { refused } from '../../../operations/act.ts'
import { defaultRamp, rampRedrive } from '../../../operations/parking/ramp-redrive.ts'
import {
  findRedrive,
  type RedriveStage,
  runRedrive,
  showRedrive,
  startRedrive,
  stopRedrive,
} from '../../../operations/parking/redrive-parked.ts'
import { withPool } from '../../database.ts'
import { consoleLog, print, safe } from '../../output.ts'
import { table } from '../../table.ts'
import { wholeNumber } from '../../whole-number.ts'
import { acting, lister } from './flags.ts'
import { confirmedSelection, type ParkedActFlags } from './preview.ts'
import { watchRedrive } from './watch.ts'

type RedriveFlags = ParkedActFlags & { id?: string; rate?: string; ramp?: boolean }

export function redriveCommand(): Command {
  const command = new Command('redrive')
    .description('try messages again in stages, together with the messages behind them')
    .argument('[ids...]', 'ids from "onceward parked list"; or select by options')
    .option('--id <request>', 'name of this redrive; the same name continues it and never starts it twice')
    .option('--rate <count>', 'maximum messages per second')
    .option('--ramp', 'move 1, 10, 100, then the rest; stop when more than a tenth is parked again')
  return acting(command, '1000').action((ids: string[], flags: RedriveFlags) =>
    withPool(flags.json === true, async pool => {
      const requestId = flags.id ?? `redrive-${randomUUID()}`
      const known =
        flags.id === undefined || flags.dryRun === true ? null : await findRedrive(pool, flags.id, 1)
      if (known !== null) return continueRedrive(pool, known, flags)
      const selection = await confirmedSelection(pool, ids, flags, 'redrive')
      if (selection === null) return
      const { consumer, because } = flags
      const perSecond = flags.rate === undefined ? null : wholeNumber(flags.rate, '--rate', lister)
      await startRedrive(pool, { requestId, consumer, because, perSecond, ...selection })
      await report(pool, flags, requestId, await run(pool, requestId, flags))
    }),
  )
}

export function resultCommand(): Command {
  return new Command('result')
    .description('show the outcome of each message of a redrive')
    .argument('<request>', 'name of the redrive')
    .option('--watch', 'wait until every message has its outcome; print counts, rate and time left')
    .option('--limit <count>', 'maximum number of messages', '50')
    .option('--json', 'print one JSON object')
    .action((requestId: string, flags: { json?: boolean; limit: string; watch?: boolean }) =>
      withPool(flags.json === true, async pool => {
        if (flags.watch === true) await watchRedrive(() => showRedrive(pool, requestId, 1), printProgress)
        const redrive = await showRedrive(pool, requestId, wholeNumber(flags.limit, '--limit', lister))
        print(flags.json === true, { ok: true, redrive }, () => redriveText(redrive))
      }),
    )
}

export function stopCommand(): Command {
  return new Command('stop')
    .description('stop a redrive between two stages; messages already moved are not reverted')
    .argument('<request>', 'name of the redrive')
    .requiredOption('--because <reason>', 'reason, recorded in the audit')
    .option('--json', 'print one JSON object')
    .action((requestId: string, flags: { json?: boolean; because: string }) =>
      withPool(flags.json === true, async pool => {
        await stopRedrive(pool, requestId, flags.because)
        print(flags.json === true, { ok: true }, () => `${safe(requestId)} was stopped.`)
      }),
    )
}

const printProgress = (line: string) => void process.stderr.write(`${line}\n`)

/** With its original rows and rate, even after it was stopped. */
async function continueRedrive(pool: SqlPool, known: RedriveReport, flags: RedriveFlags): Promise<void> {
  const { requestId, digest, perSecond } = known
  const { consumer, because } = flags
  if (known.consumer !== consumer) throw refused(`${requestId} does not belong to consumer "${consumer}".`)
  await startRedrive(pool, { requestId, consumer, because, perSecond, digest, ids: [] })
  await report(pool, flags, requestId, await run(pool, requestId, flags))
}

function run(
  pool: SqlPool,
  requestId: string,
  flags: RedriveFlags,
): Promise<Omit<RedriveStage, 'waitMs'> & { readonly stoppedBecause?: string | null }> {
  const log = consoleLog(flags.json === true)
  if (flags.ramp === true)
    return rampRedrive(pool, requestId, defaultRamp, {
      pause: ms => setTimeout(ms),
      onProgress: progress => log.info('redrive ramp', { id: requestId, ...progress }),
    })
  return runRedrive(pool, requestId, {
    pause: ms => setTimeout(ms),
    onStage: ({ moved, behind, left }) =>
      log.info('redrive stage moved', { id: requestId, moved, behind, left }),
  })
}

async function report(
  pool: SqlPool,
  flags: RedriveFlags,
  requestId: string,
  stage: Awaited<ReturnType<typeof run>>,
): Promise<void> {
  const redrive = await showRedrive(pool, requestId, 50)
  print(
    flags.json === true,
    { ok: true, requestId, ...stage, redrive },
    () =>
      `${stage.moved} moved, ${stage.behind} behind them, ${stage.left} left.${stage.state === 'stopped' ? ` It was stopped: ${stage.stoppedBecause ?? 'by an operator'}.` : ''}${stage.moved + stage.behind > 0 ? ' Workers lease them now.' : ''} \nnext: onceward parked result ${safe(requestId)} --watch`,
  )
}

function redriveText({ rows, outcomes, ...facts }: RedriveReport): string {
  return [
    table(
      ['fact', 'value'],
      Object.entries(facts).map(([name, value]) => [
        name,
        value instanceof Date ? value.toISOString() : value,
      ]),
    ),
    '',
    table(['outcome', 'count'], Object.entries(outcomes)),
    '',
    table(
      ['id', 'message', 'behind', 'outcome', 'why'],
      rows.map(r => [r.id, r.messageId, r.behind ? 'yes' : '', r.outcome, r.why]),
    ),
  ].join('\n')
}
