import { isRecord, oneOf, type Report, wholeNumber } from '../../contract/check-values.ts'
import { nearestName } from '../../ports/nearest-name.ts'
import { afterProblems } from '../declared/after.ts'
import { checkColumn, checkTable } from '../declared/names.ts'
import { responseProblems } from '../declared/respond.ts'
import { defaultResponses, knownFields } from './declaration.ts'

const ownColumns = [
  'event_id',
  'sign',
  'reverses',
  'key',
  'window_start',
  'occurred_at',
  'count',
  'latest_at',
]

/** Problems of a declaration that are visible without the database. */
export function contributionProblems(declared: unknown, wrong: Report): void {
  if (!isRecord(declared)) return wrong('contribution', 'must be an object')
  for (const field of Object.keys(declared)) {
    if (knownFields.includes(field)) continue
    const near = nearestName(field, knownFields)
    wrong(field, `is not a known key${near === null ? '' : `; did you mean '${near}'?`}`)
  }
  checkTable(declared.facts, 'facts', wrong)
  checkTable(declared.summary, 'summary', wrong)
  for (const field of ['key', 'eventId']) {
    if (typeof declared[field] !== 'function') wrong(field, 'must be a function of the message')
  }
  for (const field of ['at', 'corrects', 'withdraws']) {
    if (declared[field] !== undefined && typeof declared[field] !== 'function')
      wrong(field, 'must be a function of the message')
  }
  windowProblems(declared, wrong)
  valueProblems(declared, wrong)
  if (declared.withdraws !== undefined && declared.corrects === undefined)
    wrong('withdraws', 'needs corrects')
  afterProblems(declared.after, wrong)
  responseProblems(declared.on as Record<string, unknown>, Object.keys(defaultResponses), wrong)
  wholeNumber(declared.retryDelayMs, 'retryDelayMs', 1, 2 ** 31 - 1, wrong)
}

function windowProblems({ window, at }: Record<string, unknown>, wrong: Report): void {
  if (window === 'none') return
  if (!isRecord(window))
    return wrong('window', "must be { sizeMs, latenessMs, late }, or 'none' for a ledger of balances")
  if (at === undefined)
    wrong('at', 'is missing: windows use event time, so declare where a message carries it')
  for (const [field, min] of [
    ['sizeMs', 1],
    ['latenessMs', 0],
  ] as const) {
    if (window[field] === undefined) wrong(`window.${field}`, 'is missing; set it in milliseconds')
    else wholeNumber(window[field], `window.${field}`, min, Number.MAX_SAFE_INTEGER, wrong)
  }
  hopProblems(window, wrong)
  wholeNumber(window.originMs, 'window.originMs', 0, Number.MAX_SAFE_INTEGER, wrong)
  oneOf(window.late, ['stale', 'park', 'accept'], 'window.late', wrong)
  for (const field of Object.keys(window)) {
    if (!['sizeMs', 'everyMs', 'latenessMs', 'late', 'originMs'].includes(field))
      wrong(`window.${field}`, 'is not a known key')
  }
}

const windowsMax = 1_000

function hopProblems({ sizeMs, everyMs }: Record<string, unknown>, wrong: Report): void {
  if (everyMs === undefined) return
  wholeNumber(everyMs, 'window.everyMs', 1, Number.MAX_SAFE_INTEGER, wrong)
  const count = Number(sizeMs) / Number(everyMs)
  if (!Number.isInteger(count) || count < 1 || count > windowsMax)
    wrong('window.everyMs', `must divide window.sizeMs, into at most ${windowsMax} parts`)
}

function valueProblems({ values, notNegative, window }: Record<string, unknown>, wrong: Report): void {
  if (values !== undefined && !isRecord(values))
    return wrong('values', 'must be { column: message => number }')
  const columns = Object.keys(values ?? {})
  for (const column of columns) {
    checkColumn(column, `values.${column}`, wrong)
    if (ownColumns.includes(column))
      wrong(`values.${column}`, 'is a column of the effect; choose another name')
    if (typeof (values as Record<string, unknown>)[column] !== 'function')
      wrong(`values.${column}`, 'must be a function of the message')
  }
  if (notNegative === undefined) return
  if (!Array.isArray(notNegative) || !notNegative.every(column => columns.includes(column)))
    wrong('notNegative', 'must list columns of values')
  if (window !== 'none') wrong('notNegative', "is for ledgers: it needs window: 'none'")
}
