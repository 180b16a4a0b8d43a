import { writeFileSync } from 'node:fs'
import { Command } from 'commander'
import type { ClosedRow } from '../../../drivers/postgres/parking/read-closed.ts'
import type { ParkedGroup } from '../../../drivers/postgres/parking/read-groups.ts'
import type { ParkedFilter, ParkedRow } from '../../../drivers/postgres/parking/read-parked.ts'
import type { SqlPool } from '../../../drivers/postgres/pool.ts'
import { OncewardError } from '../../../errors.ts'
import { groupParked } from '../../../operations/parking/group-parked.ts'
import { listClosed } from '../../../operations/parking/list-closed.ts'
import { listFixes } from '../../../operations/parking/list-fixes.ts'
import { listParked } from '../../../operations/parking/list-parked.ts'
import { parkedCsv } from '../../../operations/parking/parked-csv.ts'
import { type PayloadMember, searchPayload } from '../../../operations/parking/search-payload.ts'
import { type ParkedDetails, readBody, showParked } from '../../../operations/parking/show-parked.ts'
import { withPool } from '../../database.ts'
import { print, safe } from '../../output.ts'
import { table } from '../../table.ts'
import { rowNumber, wholeNumber } from '../../whole-number.ts'
import { fixesText } from './fixes.ts'
import { type FilterFlags, filterOf, gathered, lister, selecting } from './flags.ts'
import { parkedTable } from './parked-table.ts'

interface ListFlags extends FilterFlags {
  readonly member?: string[]
  readonly id?: string[]
  readonly ids?: boolean
  readonly csv?: boolean
}

export function listCommand(): Command {
  const command = new Command('list')
    .description('list messages that need attention, oldest first, by page')
    .option('--consumer <name>', "only this consumer's")
    .option('--after <id>', 'start after this id')
    .option(
      '--member <path=value>',
      'only with this member of a JSON payload, such as order.id=7; several: with all of them',
      gathered,
    )
    .option('--id <ids...>', 'only these ids')
    .option('--ids', 'print the ids only, one on each line')
    .option('--csv', 'print CSV without payloads; raise --limit for more rows')
  return selecting(command, '50').action((flags: ListFlags) =>
    withPool(flags.json === true, async pool => {
      if (flags.csv === true && flags.json === true)
        throw new OncewardError('usage', 'Pass --csv or --json, not both.')
      const filter = filterOf(flags, flags.id)
      const rows =
        flags.member === undefined
          ? await listParked(pool, filter)
          : await rowsWithMembers(pool, filter, flags.member.map(memberOf))
      if (flags.csv === true) process.stdout.write(csvText(rows))
      else
        print(flags.json === true, { ok: true, rows }, () =>
          flags.ids === true ? rows.map(({ id }) => id).join('\n') : listText(rows),
        )
    }),
  )
}

function memberOf(text: string): PayloadMember {
  const [path = '', ...value] = text.split('=')
  if (path === '' || value.length === 0)
    throw new OncewardError('usage', '--member takes a path and a value, such as order.id=7.')
  return { path: path.split('.'), value: value.join('=') }
}

const searchMs = 3_600_000

/** A terminal waits until every row was looked at. */
async function rowsWithMembers(pool: SqlPool, filter: ParkedFilter, members: readonly PayloadMember[]) {
  const limits = { timeoutMs: searchMs, nowMs: () => performance.now() }
  return (await searchPayload(pool, filter, members, limits)).rows
}

export function groupsCommand(): Command {
  return new Command('groups')
    .description('count messages by cause: failure class, code and place')
    .option('--consumer <name>', "only this consumer's")
    .option('--limit <count>', 'maximum number of groups', '50')
    .option('--json', 'print one JSON object')
    .action((flags: FilterFlags) =>
      withPool(flags.json === true, async pool => {
        const countMax = wholeNumber(flags.limit, '--limit', lister)
        const groups = await groupParked(pool, { consumer: flags.consumer, countMax })
        print(flags.json === true, { ok: true, groups }, () => groupTable(groups))
      }),
    )
}

export function showCommand(): Command {
  return new Command('show')
    .description('show one message: body, headers, attempts and acts')
    .argument('<id>', 'id, from "onceward parked list"')
    .option('--body-to <file>', 'write the whole body to a new file')
    .option('--fixes', 'show what each fix of the payload changed, for its approval')
    .option('--json', 'print one JSON object')
    .action((id: string, flags: { json?: boolean; bodyTo?: string; fixes?: boolean }) =>
      withPool(flags.json === true, async pool => {
        rowNumber(id, 'id', lister)
        const message = await showParked(pool, id)
        if (flags.bodyTo !== undefined) writeFileSync(flags.bodyTo, await readBody(pool, id), { flag: 'wx' })
        if (flags.fixes !== true)
          return print(flags.json === true, { ok: true, message }, () => details(message))
        const fixes = await listFixes(pool, id)
        print(flags.json === true, { ok: true, message, fixes }, () => fixesText(fixes))
      }),
    )
}

export function closedCommand(): Command {
  return new Command('closed')
    .description('list skipped and deleted messages with their reasons')
    .option('--consumer <name>', "only this consumer's")
    .option('--after <id>', 'start after this id')
    .option('--limit <count>', 'maximum number of rows', '50')
    .option('--json', 'print one JSON object')
    .action((flags: FilterFlags) =>
      withPool(flags.json === true, async pool => {
        const { consumer, after, countMax } = filterOf(flags)
        const closed = await listClosed(pool, { consumer, after, countMax })
        print(flags.json === true, { ok: true, ...closed }, () => closedTable(closed.total, closed.rows))
      }),
    )
}

/** A terminal gets no escapes; a file gets the exact texts. */
function csvText(rows: readonly ParkedRow[]): string {
  const csv = parkedCsv(rows)
  return process.stdout.isTTY ? safe(csv.replaceAll('\r\n', '\n')) : csv
}

function listText(rows: readonly ParkedRow[]): string {
  const next = rows.length === 0 ? '' : `\n\nnext: onceward parked show ${rows[0]!.id}`
  return `${parkedTable(rows)}${next}`
}

function closedTable(total: number, rows: readonly ClosedRow[]): string {
  if (total === 0) return 'No messages were skipped or deleted.'
  const lines = rows.map(r => [
    r.id,
    r.consumer,
    r.messageId,
    r.how,
    r.at.toISOString(),
    r.by,
    r.code,
    r.because,
  ])
  return `${table(['id', 'consumer', 'message', 'how', 'at', 'by', 'code', 'because'], lines)}\n${total} in all`
}

function groupTable(groups: readonly ParkedGroup[]): string {
  if (groups.length === 0) return 'No messages need attention.'
  return table(
    ['cause', 'consumer', 'state', 'count', 'class', 'code', 'place', 'example', 'oldest'],
    groups.map(g => [
      g.cause,
      g.consumer,
      g.state,
      g.count,
      g.failureClass,
      g.code,
      g.place,
      g.example,
      g.oldestAt?.toISOString().slice(0, 19),
    ]),
  )
}

function details({ headers, properties, body, timeline, ...facts }: ParkedDetails): string {
  const plain = Object.entries(facts).map(([name, value]) => [
    name,
    value instanceof Date ? value.toISOString() : value,
  ])
  const cut = body.whole ? '' : `\n… ${body.bytes} bytes in total; --body-to writes them to a file`
  return [
    table(['fact', 'value'], plain),
    `\nheaders\n  ${safe(JSON.stringify(headers))}\nproperties\n  ${safe(JSON.stringify(properties))}`,
    `\nbody, as ${body.as}\n${safe(body.content)}${cut}`,
    `\ntimeline\n${table(
      ['at', 'what', 'by', 'text'],
      timeline.map(t => [t.at.toISOString(), t.what, t.by, t.text]),
    )}`,
  ].join('\n')
}
