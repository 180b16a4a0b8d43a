import { Command } from 'commander'
import type { AuditRow } from '../../drivers/postgres/audit/read-audit.ts'
import { type Reconciliation, reconcile } from '../../evidence/reconcile/reconcile.ts'
import { listAudit, verifyAudit } from '../../operations/parking/verify-audit.ts'
import { loadConsumer } from '../../runtime/load-consumer.ts'
import { withPool } from '../database.ts'
import { consoleLog, counted, print, safe } from '../output.ts'
import { table } from '../table.ts'
import { wholeNumber } from '../whole-number.ts'

type Flags = { json?: boolean }

/** The audit: every act and every refused attempt, in a chain of hashes. */
export function auditCommand(): Command {
  return new Command('audit')
    .description(
      'acts and refused attempts: list them, verify the hash chain, reconcile markers with effects',
    )
    .addCommand(listCommand())
    .addCommand(verifyCommand())
    .addCommand(reconcileCommand())
}

function listCommand(): Command {
  return new Command('list')
    .description('list audit rows, newest first')
    .option('--consumer <name>', "only this consumer's")
    .option('--limit <count>', 'maximum number of rows', '50')
    .option('--json', 'print one JSON object')
    .action((flags: Flags & { consumer?: string; limit: string }) =>
      withPool(flags.json === true, async pool => {
        const countMax = wholeNumber(flags.limit, '--limit', 'onceward audit list --help')
        const entries = await listAudit(pool, { consumer: flags.consumer, countMax })
        print(flags.json === true, { ok: true, entries }, () => entryTable(entries))
      }),
    )
}

function verifyCommand(): Command {
  return new Command('verify')
    .description('recompute every hash; exit code 1 if a row was changed, removed or inserted')
    .option(
      '--expect <hash>',
      'head of an earlier verification, kept outside this database; it must still be in the chain',
    )
    .option('--json', 'print one JSON object')
    .action((flags: Flags & { expect?: string }) =>
      withPool(flags.json === true, async pool => {
        const verdict = await verifyAudit(pool, flags.expect)
        const ok = verdict.problems.length === 0
        if (!ok) process.exitCode = 1
        print(flags.json === true, { ok, ...verdict }, () =>
          ok
            ? `${counted(verdict.rows, 'row')}, one intact chain. Keep its head outside this database: ${verdict.head}`
            : verdict.problems.map(({ text }) => text).join('\n'),
        )
      }),
    )
}

function reconcileCommand(): Command {
  return new Command('reconcile')
    .description(
      'find markers without effects, effects without markers and rows changed by hand; exit code 1 if any exist',
    )
    .argument('<file>', "the consumer's file")
    .option('--examples <count>', 'maximum number of examples per kind', '20')
    .option('--json', 'print one JSON object')
    .action(async (file: string, flags: Flags & { examples: string }) => {
      const json = flags.json === true
      const examplesMax = wholeNumber(flags.examples, '--examples', 'onceward audit reconcile --help')
      const consumer = await loadConsumer(file)
      const log = consoleLog(json)
      const onProgress = (step: string, markers: number) => log.info('compared', { step, markers })
      await withPool(json, async pool => {
        const found = await reconcile(pool, consumer as never, { examplesMax, onProgress })
        const ok = found.drift.length === 0
        if (!ok) process.exitCode = 1
        print(json, { ok, ...found }, () => reconcileText(found))
      })
    })
}

function reconcileText({ consumer, generation, markers, effects, drift, limits }: Reconciliation): string {
  const head = `${consumer}, generation ${generation}: ${counted(markers, 'marker')} and ${counted(effects, 'message')} with effects compared.`
  const blocks = drift.map(
    ({ kind, meaning, count, examples }) =>
      `${count} × ${kind}. ${meaning}\n${table(
        ['id', 'detail'],
        examples.map(({ id, detail }) => [id, detail]),
      )}`,
  )
  const clean =
    limits.length === 0
      ? 'No drift was found.'
      : 'No drift was found. The notes list what could not be compared.'
  const verdict = drift.length === 0 ? [clean] : blocks
  return [head, ...verdict, ...limits.map(limit => `note: ${safe(limit)}`)].join('\n\n')
}

function entryTable(entries: readonly AuditRow[]): string {
  if (entries.length === 0) return 'The audit is empty.'
  return table(
    ['seq', 'at', 'actor', 'action', 'outcome', 'consumer', 'subject', 'reason'],
    entries.map(e => [
      e.seq,
      e.at,
      e.actor,
      e.action,
      e.outcome,
      e.consumer,
      e.subject?.slice(0, 40),
      e.reason.slice(0, 80),
    ]),
  )
}
