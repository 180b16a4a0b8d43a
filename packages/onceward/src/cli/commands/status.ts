import { Command } from 'commander'
import { durationText } from '../../contract/duration.ts'
import { readRates } from '../../telemetry/consumer-detail.ts'
import { lackText } from '../../telemetry/lack-text.ts'
import { readStatus, type Status } from '../../telemetry/read-status.ts'
import { withPool } from '../database.ts'
import { oneLine, print } from '../output.ts'
import { table } from '../table.ts'
import { flowTable } from './status/flow-table.ts'

export function statusCommand(): Command {
  return new Command('status')
    .description('show consumers, held work, external effects, outbox and queues of the database')
    .option('--json', 'print one JSON object')
    .action((options: { json?: boolean }) =>
      withPool(options.json === true, async pool => {
        const status = await readStatus(pool)
        const rates = await readRates(pool)
        print(options.json === true, { ok: true, ...status, rates }, () =>
          [
            `schema version ${status.schemaVersion}, about ${status.markersAbout} markers\n`,
            section(
              'consumers',
              table(
                [
                  'name',
                  'generation',
                  'owner',
                  'risk',
                  'open runs',
                  'silent runs',
                  'paused',
                  'pending',
                  'oldest, s',
                  'parked',
                  'dead',
                  'quarantined',
                ],
                status.consumers.map(c => [
                  c.name,
                  c.generation,
                  c.owner,
                  c.risk,
                  c.openRuns,
                  c.silentRuns,
                  c.pausedBecause === null ? '' : `${c.pausedBecause}, ${c.pausedSeconds?.toFixed(0)} s`,
                  c.pending,
                  c.oldestPendingSeconds,
                  c.parked,
                  c.dead,
                  c.quarantined,
                ]),
              ),
            ),
            section('last hour', flowTable(rates)),
            section(
              'external effects',
              table(
                ['consumer', 'target', 'state', 'count'],
                status.ledger.map(l => [l.consumer, l.target, l.state, l.count]),
              ),
            ),
            section(
              'outbox',
              table(
                ['destination', 'queue', 'waiting', 'oldest, s', 'relay', 'failing', 'behind', 'last error'],
                status.outbox.map(o => [
                  o.destination,
                  o.queue,
                  o.waiting,
                  o.oldestSeconds,
                  o.served ? '' : 'NONE',
                  o.failing,
                  o.behind,
                  o.lastError?.slice(0, 160) ?? '',
                ]),
              ),
            ),
            section(
              'relays',
              table(
                ['destination', 'instance', 'buckets of 32', 'leased at', 'lease, s'],
                status.relays.map(r => [
                  r.destination,
                  r.instance,
                  r.buckets,
                  r.leasedAt?.toISOString() ?? '',
                  r.leaseSeconds,
                ]),
              ),
            ),
            section(
              'queues',
              table(
                ['name', 'waiting', 'leased', 'oldest, s'],
                status.queues.map(q => [q.name, q.waiting, q.leased, q.oldestSeconds]),
              ),
            ),
            section(
              'partitions of logs',
              table(
                ['consumer', 'partition', 'epoch', 'next', 'reader', 'moved, s ago'],
                status.partitions.map(p => [
                  p.consumer,
                  p.partition,
                  p.epoch,
                  p.next ?? '',
                  p.owner,
                  p.secondsAgo,
                ]),
              ),
            ),
            section(
              'memory',
              table(
                ['table', 'rows, about', 'MB'],
                status.retention.tables.map(t => [t.table, t.rowsAbout, (t.bytes / 1e6).toFixed(1)]),
              ),
            ),
            section(
              'markers are removed',
              table(
                ['consumer', 'after', 'removed before', 'next pass', 'note'],
                status.retention.consumers
                  .filter(r => r.kind === 'markers')
                  .map(r => [
                    r.consumer,
                    durationText(r.keepMs),
                    goneBefore(status, r.consumer, r.generation),
                    r.next?.toISOString() ?? '',
                    r.note ?? '',
                  ]),
              ),
            ),
            unserved(status),
            withoutWorker(status),
            withoutReader(status),
            status.openLosses === 0 ? '' : `\n${lossesText(status.openLosses)}: see "onceward losses"`,
          ]
            .join('')
            .trimEnd(),
        )
      }),
    )
}

function goneBefore({ retention }: Status, consumer: string, generation: number): string {
  const horizon = retention.horizons.find(h => h.consumer === consumer && h.generation === generation)
  return horizon?.purgedBefore.toISOString() ?? ''
}

function unserved({ outbox }: Status): string {
  const rows = outbox.filter(({ served }) => !served)
  if (rows.length === 0) return ''
  const waiting = rows.reduce((sum, row) => sum + row.waiting, 0)
  const names = [...new Set(rows.map(({ destination }) => destination))].map(oneLine).join(', ')
  return `\n${waiting} messages wait for a destination without a relay: ${names}. Run "onceward relay" with the address of that broker.\n`
}

function withoutWorker({ unserved: work }: Status): string {
  return work
    .map(row =>
      row.campaign === null
        ? `\n${row.waiting} acknowledged messages wait for ${oneLine(lackText(row))}. Run its contract with "onceward run <file> --part worker".\n`
        : `\n${row.waiting} acknowledged messages of ${oneLine(row.consumer)} wait for ${lackText(row)}. Approve it again ("onceward replay approve ${row.campaign} …"), or cancel it: they are then applied without external effects.\n`,
    )
    .join('')
}

function withoutReader({ unreadLevels }: Status): string {
  return unreadLevels
    .map(({ consumer, generation, topics, messages }) =>
      oneLine(
        `${messages} messages of ${consumer}, generation ${generation}, wait for their next attempt in ${topics.join(', ')}, which no process reads. Run its contract: the consumer reads them at start.`,
      ),
    )
    .map(line => `\n${line}\n`)
    .join('')
}

function lossesText(count: number): string {
  return count === 1 ? '1 declared loss' : `${count} declared losses`
}

/** Empty when there are no rows. */
function section(title: string, text: string): string {
  const lines = text.split('\n')
  return lines.length === 1 ? '' : `\n${title}\n${lines.map(line => `  ${line}`).join('\n')}\n`
}
