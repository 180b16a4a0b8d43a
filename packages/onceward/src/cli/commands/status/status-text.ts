import { durationText } from '../../../contract/duration.ts'
import type { readRates } from '../../../telemetry/consumer-detail.ts'
import { lackText } from '../../../telemetry/lack-text.ts'
import type { Status } from '../../../telemetry/read-status.ts'
import { oneLine } from '../../output.ts'
import { table } from '../../table.ts'
import { flowTable } from './flow-table.ts'

/** The database as sections of tables; a section without rows is left out. */
export function statusText(status: Status, rates: Awaited<ReturnType<typeof readRates>>): string {
  return [
    `schema version ${status.schemaVersion}, about ${status.markersAbout} markers\n`,
    section('consumers', consumersTable(status)),
    section('last hour', flowTable(rates)),
    section('external effects', effectsTable(status)),
    section('outbox', outboxTable(status)),
    section('relays', relaysTable(status)),
    section('queues', queuesTable(status)),
    section('partitions of logs', partitionsTable(status)),
    section('memory', memoryTable(status)),
    section('markers are removed', removalTable(status)),
    unserved(status),
    withoutWorker(status),
    withoutReader(status),
    status.openLosses === 0 ? '' : `\n${lossesText(status.openLosses)}: see "onceward losses"`,
  ]
    .join('')
    .trimEnd()
}

function consumersTable({ consumers }: Status): string {
  const counts = [
    'open runs',
    'silent runs',
    'paused',
    'pending',
    'oldest, s',
    'parked',
    'dead',
    'quarantined',
  ]
  return table(
    ['name', 'generation', 'owner', 'risk', ...counts],
    consumers.map(c => [
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
  )
}

function effectsTable({ ledger }: Status): string {
  return table(
    ['consumer', 'target', 'state', 'count'],
    ledger.map(l => [l.consumer, l.target, l.state, l.count]),
  )
}

function outboxTable({ outbox }: Status): string {
  return table(
    ['destination', 'queue', 'waiting', 'oldest, s', 'relay', 'failing', 'behind', 'last error'],
    outbox.map(o => [
      o.destination,
      o.queue,
      o.waiting,
      o.oldestSeconds,
      o.served ? '' : 'NONE',
      o.failing,
      o.behind,
      o.lastError?.slice(0, 160) ?? '',
    ]),
  )
}

function relaysTable({ relays }: Status): string {
  return table(
    ['destination', 'instance', 'buckets of 32', 'leased at', 'lease, s'],
    relays.map(r => [r.destination, r.instance, r.buckets, r.leasedAt?.toISOString() ?? '', r.leaseSeconds]),
  )
}

function queuesTable({ queues }: Status): string {
  return table(
    ['name', 'waiting', 'leased', 'oldest, s'],
    queues.map(q => [q.name, q.waiting, q.leased, q.oldestSeconds]),
  )
}

function partitionsTable({ partitions }: Status): string {
  return table(
    ['consumer', 'partition', 'epoch', 'next', 'reader', 'moved, s ago'],
    partitions.map(p => [p.consumer, p.partition, p.epoch, p.next ?? '', p.owner, p.secondsAgo]),
  )
}

function memoryTable({ retention }: Status): string {
  return table(
    ['table', 'rows, about', 'MB'],
    retention.tables.map(t => [t.table, t.rowsAbout, (t.bytes / 1e6).toFixed(1)]),
  )
}

function removalTable(status: Status): string {
  const markers = status.retention.consumers.filter(({ kind }) => kind === 'markers')
  return table(
    ['consumer', 'after', 'removed before', 'next pass', 'note'],
    markers.map(r => [
      r.consumer,
      durationText(r.keepMs),
      goneBefore(status, r.consumer, r.generation),
      r.next?.toISOString() ?? '',
      r.note ?? '',
    ]),
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
