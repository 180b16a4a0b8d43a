import pg from 'pg'
import type { Increment } from '../../workload.ts'
import { changesOf, incrementCounters } from '../apply-batch.ts'
import { type OpenContender, startClock } from '../contender.ts'
import { Batches } from './batches.ts'
import type { ConnectLog, LogRecord } from './log-reader.ts'

const batchSize = 500
const epoch = 1
const moveOn = 'update bench_checkpoint set next = $4 where partition = $1 and epoch = $2 and next = $3'

interface Line {
  readonly partition: number
  records: LogRecord[]
  inFlight: boolean
  next: number
}

/**
 * No markers: effects and the partition's position in one transaction, one batch in flight per partition, two
 * in all. Nothing is hashed, because there is no row to keep a digest in.
 */
export function openHandCheckpoint(connect: ConnectLog): OpenContender {
  return async place => {
    const client = await connect(place)
    const connections = [1, 2].map(() => new pg.Client({ connectionString: place.databaseUrl }))
    for (const connection of connections) await connection.connect()
    return async task => {
      const lines = Array.from({ length: task.partitions }, (_, partition) => newLine(partition))
      await connections[0]!.query(
        'insert into bench_checkpoint select partition, $2, 0 from generate_series(0, $1::int - 1) as partition',
        [task.partitions, epoch],
      )
      const reader = await client.open(task)
      const batches = new Batches(reader, task.load.count, record =>
        lines[record.partition]!.records.push(record),
      )
      const seconds = startClock()
      const busy = connections.slice(0, task.partitions)
      await Promise.all(busy.map(connection => work(connection, batches, lines)))
      const took = seconds()
      await reader.close()
      return took
    }
  }
}

async function work(connection: pg.Client, batches: Batches, lines: readonly Line[]): Promise<void> {
  const take = () => takeLongest(lines)
  for (let one = await batches.next(take); one !== null; one = await batches.next(take)) {
    await apply(connection, one.line, one.batch)
    one.line.inFlight = false
  }
}

/** The line with the most records, of those without a worker. */
function takeLongest(lines: readonly Line[]): { line: Line; batch: LogRecord[] } | null {
  let longest: Line | null = null
  for (const line of lines) {
    if (!line.inFlight && line.records.length > (longest?.records.length ?? 0)) longest = line
  }
  if (longest === null) return null
  const batch = longest.records.slice(0, batchSize)
  longest.records = longest.records.slice(batchSize)
  longest.inFlight = true
  return { line: longest, batch }
}

async function apply(connection: pg.Client, line: Line, batch: readonly LogRecord[]): Promise<void> {
  const next = batch.at(-1)!.offset + 1
  const messages = batch.map(({ body }) => JSON.parse(body.toString()) as Increment)
  await connection.query('begin')
  await connection.query(incrementCounters, changesOf(messages))
  const moved = await connection.query(moveOn, [line.partition, epoch, line.next, next])
  if (moved.rowCount !== 1) throw new Error(`partition ${line.partition} has another owner`)
  await connection.query('commit')
  line.next = next
}

function newLine(partition: number): Line {
  return { partition, records: [], inFlight: false, next: 0 }
}
