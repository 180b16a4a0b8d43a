import { isRecord, oneOf, type Report, wholeNumber } from '../../contract/check-values.ts'
import type { ConsumerContract } from '../../contract/contract.ts'
import { nearestName } from '../../ports/nearest-name.ts'
import { afterProblems } from '../declared/after.ts'
import {
  gapActions,
  gapWords,
  optionNames,
  type ProjectionOptions,
  repairNames,
  waitNames,
} from './declaration.ts'

const durationMaxMs = 2 ** 31 - 1

/** Problems of a declaration that are visible without its table. Accepts any value. */
export function projectionProblems<M>(
  options: ProjectionOptions<M>,
  contract: ConsumerContract<M>,
): { place: string; text: string }[] {
  const problems: { place: string; text: string }[] = []
  const wrong: Report = (place, text) => void problems.push({ place, text })
  if (!isRecord(options)) return [{ place: 'table', text: 'is missing: projection takes one object' }]
  unknownNames(options, optionNames, '', wrong)
  tableProblems(options, wrong)
  contentProblems(options, wrong)
  if (options.gap === undefined)
    wrong('gap', `is missing: declare what happens when versions are skipped (${gapWords.join(', ')}, …)`)
  else gapProblems(options.gap, contract, wrong)
  answersProblems(options, wrong)
  afterProblems(options.after, wrong)
  columnsTwice(options, wrong)
  return problems
}

function tableProblems(options: Record<string, unknown>, wrong: Report): void {
  for (const name of ['table', 'rebuildTable']) {
    const table = options[name]
    if (table === undefined && name === 'rebuildTable') continue
    if (typeof table !== 'string' || !/^[^.\0"]{1,63}(\.[^.\0"]{1,63})?$/.test(table))
      wrong(name, "must name a table: 'case_view' or 'reporting.case_view'")
  }
  readersProblems(options.key, 'key', wrong)
  if (options.version === undefined)
    wrong(
      'version',
      "is missing: without a version it is unknown which fact is newer ({ version: 'caseVersion' })",
    )
  else readersProblems(options.version, 'version', wrong)
  if (isRecord(options.version) && Object.keys(options.version).length > 1)
    wrong('version', 'must name one column')
  wholeNumber(options.firstVersion, 'firstVersion', 0, Number.MAX_SAFE_INTEGER, wrong)
}

function readersProblems(readers: unknown, place: string, wrong: Report): void {
  if (!isRecord(readers) || Object.keys(readers).length === 0)
    return wrong(place, `must name its columns: { column: 'field' } or { column: message => … }`)
  for (const [column, from] of Object.entries(readers)) {
    if (typeof from === 'function' || (typeof from === 'string' && from !== '') || isRecordField(from))
      continue
    wrong(
      `${place}.${column}`,
      "must be a function of the message, the name of a field, { header: 'name' } or { record: 'key' | 'offset' }",
    )
  }
}

function contentProblems(options: Record<string, unknown>, wrong: Report): void {
  if ((options.columns === undefined) === (options.handle === undefined))
    wrong('columns', 'give either columns or handle')
  if (options.columns !== undefined) readersProblems(options.columns, 'columns', wrong)
  for (const name of ['handle', 'corrects']) {
    if (options[name] !== undefined && typeof options[name] !== 'function') wrong(name, 'must be a function')
  }
  if (options.digest !== undefined && (typeof options.digest !== 'string' || options.digest === ''))
    wrong('digest', 'must name a bytea column')
  if (options.digest !== undefined && options.columns === undefined)
    wrong('digest', 'covers the declared columns: it needs columns')
  if (options.delete === undefined) return
  if (!isRecord(options.delete)) return wrong('delete', 'must be { column, when }')
  unknownNames(options.delete, ['column', 'when'], 'delete.', wrong)
  if (typeof options.delete.column !== 'string' || options.delete.column === '')
    wrong('delete.column', 'must name a boolean column: a deleted row stays, so no older fact can restore it')
  if (options.delete.when === 'tombstone') return tombstoneProblems(options, wrong)
  if (typeof options.delete.when !== 'function')
    wrong('delete.when', "must be a function of the message, or 'tombstone'")
}

/** A tombstone has only a key, headers and an offset. */
function tombstoneProblems(options: Record<string, unknown>, wrong: Report): void {
  for (const place of ['key', 'version']) {
    for (const [column, from] of Object.entries(isRecord(options[place]) ? options[place] : {}))
      if (!isRecordField(from))
        wrong(
          `${place}.${column}`,
          "must be { record: 'key' }, { record: 'offset' } or { header: 'name' }: a tombstone has no body to read it from",
        )
  }
}

function isRecordField(from: unknown): boolean {
  if (!isRecord(from) || Object.keys(from).length !== 1) return false
  return (
    from.record === 'key' ||
    from.record === 'offset' ||
    (typeof from.header === 'string' && from.header !== '')
  )
}

function gapProblems<M>(gap: unknown, contract: ConsumerContract<M>, wrong: Report): void {
  if (typeof gap === 'string' && gapWords.includes(gap)) {
    if (gap === 'fail fast') needsKeyOrder('gap', contract, wrong)
    return
  }
  const policy = isRecord(gap) ? gap.policy : undefined
  if (policy === 'repair') return repairProblems(gap as Record<string, unknown>, 'gap', ['policy'], wrong)
  if (policy === 'wait') return waitProblems(gap as Record<string, unknown>, contract, wrong)
  const near = typeof gap === 'string' ? nearestName(gap, gapWords) : null
  const words = gapWords.map(word => `'${word}'`).join(', ')
  wrong(
    'gap',
    `must be one of ${words}, { policy: 'wait', … } or { policy: 'repair', … }${near === null ? '' : `; did you mean '${near}'?`}`,
  )
}

/** A source of truth answers with a message, not with a log record. */
function answersProblems({ key, version, columns, gap }: Record<string, unknown>, wrong: Report): void {
  const asks = isRecord(gap) && (gap.policy === 'repair' || gap.repair !== undefined)
  const fields = [key, version, columns].flatMap(one => (isRecord(one) ? Object.values(one) : []))
  if (asks && fields.some(isRecordField))
    wrong('gap', "'repair' returns a message, not a record: it has no headers, record key or offset to read")
}

function waitProblems<M>(gap: Record<string, unknown>, contract: ConsumerContract<M>, wrong: Report): void {
  unknownNames(gap, waitNames, 'gap.', wrong)
  const limits = { deadlineMs: durationMaxMs, keyMax: 1_000_000, totalMax: 10_000_000 }
  for (const [name, max] of Object.entries(limits)) {
    if (gap[name] === undefined)
      wrong(`gap.${name}`, 'is missing: waiting facts must be bounded in time and in number')
    else wholeNumber(gap[name], `gap.${name}`, 1, max, wrong)
  }
  for (const name of ['atDeadline', 'whenFull']) {
    oneOf(gap[name], gapActions, `gap.${name}`, wrong)
    if (gap[name] === 'halt key') needsKeyOrder(`gap.${name}`, contract, wrong)
    if (gap[name] === 'repair' && gap.repair === undefined)
      wrong('gap.repair', `is missing: ${name} 'repair' needs { fetch }`)
  }
  if (contract?.dedup === 'version')
    wrong(
      'gap',
      "'wait' needs dedup 'marker': without a marker, a waiting message would be stored again at each delivery",
    )
  if (gap.repair !== undefined) repairProblems(gap.repair, 'gap.repair', [], wrong)
}

function repairProblems(repair: unknown, place: string, beside: readonly string[], wrong: Report): void {
  if (!isRecord(repair)) return wrong(place, 'must be { fetch, timeoutMs, retryMs }')
  unknownNames(repair, [...beside, ...repairNames], `${place}.`, wrong)
  if (typeof repair.fetch !== 'function')
    wrong(`${place}.fetch`, 'must be a function that asks the source of truth')
  wholeNumber(repair.timeoutMs, `${place}.timeoutMs`, 1, durationMaxMs, wrong)
  wholeNumber(repair.retryMs, `${place}.retryMs`, 0, durationMaxMs, wrong)
}

function needsKeyOrder<M>(place: string, contract: ConsumerContract<M>, wrong: Report): void {
  if (contract?.order !== 'key')
    wrong(place, "blocks a key, which needs order 'key' with the projection's key as identity.orderKey")
}

function columnsTwice(options: Record<string, unknown>, wrong: Report): void {
  const named = [options.key, options.version, options.columns].flatMap(one =>
    isRecord(one) ? Object.keys(one) : [],
  )
  const extra = [isRecord(options.delete) ? options.delete.column : undefined, options.digest]
  const seen = new Set<unknown>()
  for (const column of [...named, ...extra]) {
    if (typeof column !== 'string') continue
    if (seen.has(column)) wrong('columns', `column '${column}' is declared twice`)
    seen.add(column)
  }
}

function unknownNames(value: object, known: readonly string[], prefix: string, wrong: Report): void {
  for (const name of Object.keys(value)) {
    if (known.includes(name)) continue
    const near = nearestName(name, known)
    wrong(`${prefix}${name}`, `is not a known key${near === null ? '' : `; did you mean '${near}'?`}`)
  }
}
