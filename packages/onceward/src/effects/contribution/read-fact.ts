import type { BatchItem } from '../../contract/handler.ts'
import { type InexactNumbers, inexactOf } from '../../message/inexact-numbers.ts'
import { readIsoTime, timeMaxMs, timeMinMs } from '../../message/iso-time.ts'
import { fittingField, type ItemReader, idField, keyField, unreadable } from '../declared/fields.ts'
import { type Fit, fitColumn } from '../declared/fit-column.ts'
import type { TableShape } from '../declared/tables.ts'
import type { ContributionDeclaration, ContributionWindow } from './declaration.ts'

/** One message's fact. */
export interface Contribution<M> {
  readonly item: BatchItem<M>
  readonly eventId: string
  readonly key: string
  /** The start of its newest window; null in a ledger. */
  readonly windowMs: number | null
  readonly atMs: number | null
  /** In the order of the declared columns. */
  readonly values: readonly (string | number)[]
  readonly corrects: string | null
  readonly withdraws: boolean
}

export function factReader<M>(
  declared: ContributionDeclaration<M>,
  facts: TableShape,
): ItemReader<M, Contribution<M>> {
  const { window, at } = declared
  const fits = (column: string) => fitColumn(facts.columns.get(column)!.keeps)
  const columns = Object.entries(declared.values ?? {}).map(([column, read]) => {
    const fit = fits(column)
    return (item: BatchItem<M>) => amountField(fit, read(item.message, item), column, inexactOf(item.message))
  })
  const [fitId, fitKey] = [fits('event_id'), fits('key')]
  const named = (fit: Fit, text: string, field: string) => fittingField(fit, text, field, null) as string
  return item => {
    const { message } = item
    const atMs = at === undefined ? null : timeField(at(message, item))
    const corrects = declared.corrects?.(message, item) ?? null
    return {
      item,
      eventId: named(fitId, idField(declared.eventId(message, item), 'eventId'), 'eventId'),
      key: named(fitKey, keyField(declared.key(message, item), 'key'), 'key'),
      windowMs:
        window === 'none' ? null : windowOf(atMs!, window.everyMs ?? window.sizeMs, window.originMs ?? 0),
      atMs,
      values: columns.map(read => read(item)),
      corrects: corrects === null ? null : idField(corrects, 'corrects'),
      withdraws: corrects !== null && declared.withdraws?.(message, item) === true,
    }
  }
}

export function windowOf(atMs: number, everyMs: number, originMs: number): number {
  return Math.floor((atMs - originMs) / everyMs) * everyMs + originMs
}

/** The starts of all windows of a fact, given the newest. */
export function windowsOf(newestMs: number, { sizeMs, everyMs = sizeMs }: ContributionWindow): number[] {
  const count = sizeMs / everyMs
  return Array.from({ length: count }, (_, n) => newestMs - (count - 1 - n) * everyMs)
}

function timeField(value: unknown): number {
  const time = typeof value === 'string' ? readIsoTime(value) : timeOf(value)
  if (typeof time === 'string')
    throw unreadable('at', `${time}; pass milliseconds, a Date, or ISO 8601 text with its time zone`)
  return time.ms
}

function timeOf(value: unknown): { readonly ms: number } | string {
  const ms = value instanceof Date ? value.getTime() : value
  const isTime = typeof ms === 'number' && Number.isInteger(ms) && ms >= timeMinMs && ms <= timeMaxMs
  return isTime ? { ms } : 'it is not a time'
}

/** A number that its column stores exactly. A missing value cannot be summed. */
function amountField(
  fit: Fit,
  value: unknown,
  column: string,
  inexact: InexactNumbers | null,
): string | number {
  const field = `values.${column}`
  if (value === undefined || value === null) throw unreadable(field, 'it is missing')
  return fittingField(fit, value, field, inexact) as string | number
}
