import { Command } from 'commander'
import { readStatus } from '../../observe/read-status.ts'
import { createPool } from '../../postgres.ts'
import { openDatabase } from '../database.ts'
import { consoleLog, print, table } from '../output.ts'

export function statusCommand(): Command {
  return new Command('status')
    .description('consumers, held work, external effects, outbox and queues of the database')
    .option('--json', 'print one JSON object')
    .action(async (options: { json?: boolean }) => {
      const database = await openDatabase(consoleLog(options.json === true))
      const pool = createPool(database.url, { max: 1 })
      try {
        const status = await readStatus(pool)
        print(options.json === true, { ok: true, ...status }, () =>
          [
            `schema version ${status.schemaVersion}, about ${status.markersAbout} markers`,
            section(
              'consumers',
              table(
                [
                  'name',
                  'generation',
                  'owner',
                  'risk',
                  'open runs',
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
                  c.pausedBecause === null ? '' : `${c.pausedBecause}, ${c.pausedSeconds?.toFixed(0)} s`,
                  c.pending,
                  c.oldestPendingSeconds,
                  c.parked,
                  c.dead,
                  c.quarantined,
                ]),
              ),
            ),
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
                ['broker', 'queue', 'waiting', 'oldest, s', 'failing', 'last error'],
                status.outbox.map(o => [
                  o.broker,
                  o.queue,
                  o.waiting,
                  o.oldestSeconds,
                  o.failing,
                  o.lastError?.slice(0, 100) ?? '',
                ]),
              ),
            ),
            section(
              'relays',
              table(
                ['broker', 'instance', 'buckets of 32', 'lease, s'],
                status.relays.map(r => [r.broker, r.instance, r.buckets, r.leaseSeconds]),
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
            status.openLosses === 0 ? '' : `\n${status.openLosses} declared losses: see "onceward losses"`,
          ].join('\n'),
        )
      } finally {
        await pool.end()
        await database.close()
      }
    })
}

function section(title: string, text: string): string {
  return `\n${title}\n${text
    .split('\n')
    .map(line => `  ${line}`)
    .join('\n')}`
}
