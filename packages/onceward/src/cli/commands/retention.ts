import { Command } from 'commander'
import { durationText } from '../../contract/duration.ts'
import { assertKeptLongEnough, neededRetention } from '../../contract/needed-retention.ts'
import { OncewardError } from '../../errors.ts'
import type { Consumer } from '../../index.ts'
import { consumerIdOf, type PlannedKind, planPurge } from '../../operations/retention/plan-purge.ts'
import { type PurgeResult, purgeConsumer } from '../../operations/retention/purge-consumer.ts'
import { declareTerms, recordPassBegin, recordPassEnd } from '../../operations/retention/record-pass.ts'
import { loadConsumer, policyHelp } from '../../runtime/load-consumer.ts'
import { realEnvironment } from '../../runtime/real-environment.ts'
import { readSourceWindow } from '../../runtime/source-window.ts'
import { type RetentionStatus, readRetention } from '../../telemetry/read-status.ts'
import { withPool } from '../database.ts'
import { consoleLog, print } from '../output.ts'
import { serverAddresses } from '../server-addresses.ts'
import { table } from '../table.ts'
import { dropTenantCommand } from './retention-drop-tenant.ts'
import { partitionCommand } from './retention-partition.ts'

type Flags = { json?: boolean; policy?: string }
type RunFlags = Flags & {
  consumer: string
  dryRun?: boolean
  archive?: string
  gzip?: boolean
  fullSpeed?: boolean
}

export function retentionCommand(): Command {
  return new Command('retention')
    .description('retention terms and horizons; plan and run the removal of old rows')
    .addCommand(statusCommand())
    .addCommand(planCommand())
    .addCommand(runCommand())
    .addCommand(partitionCommand())
    .addCommand(dropTenantCommand())
}

function statusCommand(): Command {
  return new Command('status')
    .description('show terms, horizons, next passes and table sizes')
    .option('--json', 'print one JSON object')
    .action((flags: Flags) =>
      withPool(flags.json === true, async pool => {
        const status = await readRetention(pool)
        print(flags.json === true, { ok: true, ...status }, () => statusText(status))
      }),
    )
}

function planCommand(): Command {
  return new Command('plan')
    .description('show what a pass would remove now; changes nothing')
    .argument('<file>', 'module whose default export is a consumer')
    .option('--policy <file>', policyHelp)
    .option('--json', 'print one JSON object')
    .action(async (file: string, flags: Flags) => {
      const { consumer, retention, needed } = await reviewed(file, flags)
      await withPool(flags.json === true, async pool => {
        const planned = await planPurge(pool, await consumerIdOf(pool, consumer), retention)
        print(flags.json === true, { ok: true, needed, planned }, () => planText(planned, needed))
      })
    })
}

function runCommand(): Command {
  return new Command('run')
    .description('remove the old rows of a consumer now')
    .argument('<file>', 'module whose default export is a consumer')
    .requiredOption('--consumer <name>', 'consumer name, as confirmation')
    .option('--dry-run', 'show what would be removed, change nothing')
    .option('--archive <folder>', 'folder for archived rows (or ONCEWARD_ARCHIVE_FOLDER)')
    .option('--gzip', 'compress the archive')
    .option('--full-speed', 'without pauses; consumers share the server with the pass')
    .option('--policy <file>', policyHelp)
    .option('--json', 'print one JSON object')
    .action(async (file: string, flags: RunFlags) => {
      const json = flags.json === true
      const { consumer, retention, needed } = await reviewed(file, flags)
      assertTyped(consumer, flags.consumer)
      await withPool(json, async pool => {
        const consumerId = await consumerIdOf(pool, consumer)
        if (flags.dryRun === true) {
          const planned = await planPurge(pool, consumerId, retention)
          return print(json, { ok: true, dryRun: true, planned }, () => planText(planned, needed))
        }
        const env = realEnvironment({ log: consoleLog(json) })
        const folder = flags.archive ?? process.env.ONCEWARD_ARCHIVE_FOLDER
        const redeliveredMs = consumer.dedup === 'marker' ? needed.ms : null
        await declareTerms(pool, consumerId, retention, 0, redeliveredMs)
        await recordPassBegin(pool, consumerId)
        const result = await purgeConsumer({
          pool,
          env,
          consumerId,
          consumerName: consumer.name,
          retention,
          archive: folder === undefined ? undefined : { folder, gzip: flags.gzip === true },
          clocks: { wallMs: Date.now, clock: env.clock },
          share: flags.fullSpeed === true ? 1 : 0.1,
          onProgress: progress(json),
        })
        await recordPassEnd(pool, consumerId, 0, result.ended ?? result.putOff)
        print(json, { ok: result.ended === null, ...result }, () => resultText(result))
        if (result.ended !== null) process.exitCode = 1
      })
    })
}

/** The consumer of a file, after checking that its terms are long enough. */
async function reviewed(file: string, { policy }: Flags) {
  const consumer = await loadConsumer(file, { policy })
  const { retention } = consumer
  if (retention === null) {
    throw new OncewardError(
      'usage',
      `Consumer ${consumer.name} has no retention section, so its rows are never removed. Nothing was changed.`,
    )
  }
  const window = await readSourceWindow(consumer.source, serverAddresses())
  assertKeptLongEnough(consumer as never, window)
  return { consumer: consumer as Consumer, retention, needed: neededRetention(consumer as never, window) }
}

function assertTyped({ name }: Consumer, typed: string): void {
  if (typed === name) return
  throw new OncewardError('usage', `The file exports consumer ${name}, not "${typed}". Nothing was removed.`)
}

function progress(json: boolean) {
  let lastPart = -1
  return ({ kind, removed, part }: { kind: string; removed: number; part: number }) => {
    const tenth = Math.floor(part * 10)
    if (tenth === lastPart) return
    lastPart = tenth
    consoleLog(json).info('removing', { kind, removed, part: `${Math.round(part * 100)} %` })
  }
}

function statusText({ consumers, horizons, tables }: RetentionStatus): string {
  return [
    table(
      ['consumer', 'generation', 'kind', 'kept for', 'action', 'removed', 'last pass', 'next', 'note'],
      consumers.map(one => [
        one.consumer,
        one.generation,
        one.kind,
        durationText(one.keepMs),
        one.action,
        one.removed,
        one.lastEnded?.toISOString() ?? '',
        one.next?.toISOString() ?? '',
        one.note ?? '',
      ]),
    ),
    '\nmarkers were removed',
    table(
      ['consumer', 'generation', 'before', 'count'],
      horizons.map(one => [one.consumer, one.generation, one.purgedBefore.toISOString(), one.purgedCount]),
    ),
    '\ntables',
    table(
      ['table', 'rows, about', 'MB'],
      tables.map(one => [one.table, one.rowsAbout, (one.bytes / 1e6).toFixed(1)]),
    ),
  ].join('\n')
}

function planText(
  planned: readonly PlannedKind[],
  needed: { readonly reasons: readonly { readonly what: string; readonly ms: number }[] },
): string {
  return [
    table(
      ['kind', 'kept for', 'removed before', 'rows', ''],
      planned.map(one => [
        one.kind,
        durationText(one.keepMs),
        one.before,
        one.rows,
        one.heldBack ? 'held back by unfinished work' : '',
      ]),
    ),
    '\na duplicate may arrive after',
    table(
      ['why', 'at most'],
      needed.reasons.map(({ what, ms }) => [what, durationText(ms)]),
    ),
  ].join('\n')
}

function resultText({ removed, ended, putOff }: PurgeResult): string {
  const counts = Object.entries(removed).map(([kind, count]) => `${kind} ${count}`)
  return `removed: ${counts.join(', ')}${ended === null ? '' : `; ended early: ${ended}`}${putOff === null ? '' : `; postponed: ${putOff}`}`
}
