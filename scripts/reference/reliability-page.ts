import { allCells, cellName } from '../../chaos/cell.ts'
import { type RecordedRun, readRecord } from '../../chaos/record.ts'

const wrongs = ['lost', 'doubled', 'outOfOrder', 'unexplained'] as const

/** `docs/reliability.md`, from the runs in `chaos/record`. */
export function reliabilityPage(runs: readonly RecordedRun[] = readRecord()): string {
  return `# Reliability: recorded runs under faults

\`npm run chaos\` runs real consumer processes on servers of its own, hurts both, and judges the result from
outside the library. This page contains the recorded runs; \`npm run reference\` writes it from
\`chaos/record\`. A run that found something is recorded like any other.

${inAll(runs)}

## By cell

A cell is one source with one way to reach PostgreSQL: directly, through PgBouncer in transaction mode, or a
primary whose synchronous standby is promoted in the middle of the run.

| cell | runs | minutes | messages | faults | lost | doubled | out of order | unexplained |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
${allCells.map(cell => cellRow(cellName(cell), runs)).join('\n')}

## Faults by kind

| fault | times |
| --- | --- |
${kindRows(runs)}

## What is staged

- **Processes**: two consumers, a worker, a dispatcher, a relay and a gateway are killed (kill -9) and frozen
  (SIGSTOP) beyond their leases. The clock of one consumer jumps by seconds to weeks.
- **Servers**: brokers, PostgreSQL and PgBouncer are killed and frozen. A standby is cut off, and promoted
  after its primary was killed. The disk of the business tables is full for seconds.
- **Links**: connections are cut, refused, slowed down and half open. Answers of PostgreSQL are lost, so that
  the outcome of a COMMIT is unknown.
- **People**: redrives, skips, fixes, campaigns and retention run beside the load. \`migrate\` moves the markers
  into daily partitions the first time, and each time applies the migration of a later version: columns on
  tables in use, and every function replaced. On 2026-11-18 it had nothing left to do.
- **Producers**: they use the brokers' own clients and send duplicates, other content under a known id, known
  requests under another id, unreadable bytes, and Kafka transactions that are aborted.
- **Modes**: the seed chooses whether failed messages block, are deferred, or all messages are stored first.

## How it is judged

The oracle shares no code with the library. It compares the producer's own log, the business tables (a row for
each application and an increment), the gateway's book, the messages read back from the broker, and documented
tables read by plain SQL.

| verdict | meaning |
| --- | --- |
| lost | confirmed to the producer, and neither applied nor recorded as set aside |
| doubled | two applications or two charges for one request, a wrong sum, two publications |
| out of order | a message of a key applied after a later one |
| unexplained | a halt without a declared cause, an outbox row never sent, an effect never requested, a marker without its effect, a message parked without a cause, a planned fault that was never staged |

The table of applications has no unique key: only the markers prevent a second row. Producers wait for
confirms and have one message of a key in flight: otherwise there is no order to keep.

## Repeat a run

\`npm run chaos -- --cells kafka/standby --minutes 3 --seed 7\` plans the same messages and the same faults as
the run with this cell, these minutes and this seed. Their timing differs, because faults wait for progress. A
run that fails keeps its plan, its events, the logs of all processes and servers, and the tables in a folder
that it names. A run that breaks off is a failed one; the next cell runs all the same.

| day | cell | mode | minutes | seed | seconds | messages | faults | wrong |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
${runs.map(runRow).join('\n')}
`
}

function inAll(runs: readonly RecordedRun[]): string {
  const minutes = Math.round(sum(runs, ({ seconds }) => seconds) / 60)
  const found = wrongs.map(name => sum(runs, run => run[name]))
  return `In all: ${runs.length} runs of a cell, ${minutes} minutes, ${sum(runs, ({ messages }) => messages)} messages,
${sum(runs, faultsOf)} faults; ${found[0]} lost, ${found[1]} doubled, ${found[2]} out of order, ${found[3]} unexplained.`
}

function cellRow(name: string, all: readonly RecordedRun[]): string {
  const runs = all.filter(({ cell }) => cell === name)
  const minutes = (sum(runs, ({ seconds }) => seconds) / 60).toFixed(1)
  const facts = [runs.length, minutes, sum(runs, ({ messages }) => messages), sum(runs, faultsOf)]
  return `| ${[name, ...facts, ...wrongs.map(wrong => sum(runs, run => run[wrong]))].join(' | ')} |`
}

function kindRows(runs: readonly RecordedRun[]): string {
  const times = new Map<string, number>()
  for (const { kills } of runs)
    for (const [kind, count] of Object.entries(kills)) times.set(kind, (times.get(kind) ?? 0) + count)
  return [...times]
    .sort(([a], [b]) => a.localeCompare(b))
    .map(([kind, count]) => `| ${kind} | ${count} |`)
    .join('\n')
}

function runRow(run: RecordedRun): string {
  const wrong = wrongs.filter(name => run[name] > 0).map(name => `${run[name]} ${name}`)
  if (run.missed > 0) wrong.push(`${run.missed} kinds of fault not staged`)
  if (run.brokeOff !== undefined) wrong.push(`broke off: ${run.brokeOff}`)
  if (run.note !== undefined) wrong.push(run.note)
  const { day, cell, mode, seed, seconds, messages } = run
  const minutes = run.minutes === undefined ? '' : `${run.minutes}${run.short ? ' (short)' : ''}`
  return `| ${[day, cell, mode, minutes, seed, seconds, messages, faultsOf(run), wrong.join(', ') || 'nothing'].join(' | ')} |`
}

const faultsOf = ({ kills }: RecordedRun): number =>
  Object.values(kills).reduce((all, count) => all + count, 0)

function sum(runs: readonly RecordedRun[], of: (run: RecordedRun) => number): number {
  return runs.reduce((all, run) => all + of(run), 0)
}
