import type { BatchItem } from '../../contract/handler.ts'
import { idField, keyField, type Reader, unreadable } from '../declared/fields.ts'
import type { TableShape } from '../declared/tables.ts'
import { decimalOf } from './decimal.ts'
import type { ContributionDeclaration } from './declaration.ts'
import { scaleOf } from './scale.ts'

/** One message's fact. */
export interface Fact<M> {
  readonly item: BatchItem<M>
  readonly eventId: string
  readonly key: string
  /** Null in a ledger. */
  readonly windowMs: number | null
  readonly atMs: number | null
  /** In the order of the declared columns. */
  readonly values: readonly (string | number)[]
  readonly corrects: string | null
  readonly withdraws: boolean
}

export function factReader<M>(declared: ContributionDeclaration<M>, facts: TableShape): Reader<M, Fact<M>> {
  const { window, at } = declared
  const columns = Object.entries(declared.values ?? {}).map(([column, read]) => {
    const fits = fitting(facts.columns.get(column)!.type)
    return (item: BatchItem<M>) => fits(read(item.message, item), column)
  })
  return item => {
    const { message } = item
    const atMs = at === undefined ? null : timeField(at(message, item))
    const corrects = declared.corrects?.(message, item) ?? null
    return {
      item,
      eventId: idField(declared.eventId(message, item), 'eventId'),
      key: keyField(declared.key(message, item), 'key'),
      windowMs: window === 'none' ? null : windowOf(atMs!, window.sizeMs, window.originMs ?? 0),
      atMs,
      values: columns.map(read => read(item)),
      corrects: corrects === null ? null : idField(corrects, 'corrects'),
      withdraws: corrects !== null && declared.withdraws?.(message, item) === true,
    }
  }
}

export function windowOf(atMs: number, sizeMs: number, originMs: number): number {
  return Math.floor((atMs - originMs) / sizeMs) * sizeMs + originMs
}

/** Year 1 to 9999: what both sides can write. */
const [timeMinMs, timeMaxMs] = [-62_135_596_800_000, 253_402_300_799_999]
const zoned = /(?:Z|[+-]\d\d:?\d\d)$/i

function timeField(value: unknown): number {
  const ms = typeof value === 'number' ? value : value instanceof Date ? value.getTime() : timeOfText(value)
  if (!Number.isInteger(ms) || ms < timeMinMs || ms > timeMaxMs)
    throw unreadable('at', 'it is no time: give milliseconds, a Date, or ISO text with its time zone')
  return ms
}

function timeOfText(value: unknown): number {
  return typeof value === 'string' && zoned.test(value) ? Date.parse(value) : Number.NaN
}

type Fits = (value: unknown, column: string) => string | number

/** A number its column holds exactly: PostgreSQL would round the rest without a word. */
function fitting(type: string): Fits {
  const scaleMax = scaleOf(type)
  return (value, column) => {
    if (typeof value === 'number' && Number.isSafeInteger(value)) return value
    const text = typeof value === 'number' || typeof value === 'bigint' ? String(value) : value
    const decimal = typeof text === 'string' ? decimalOf(text) : null
    if (decimal === null) throw unreadable(`values.${column}`, 'it is no plain decimal number')
    if (decimal.scale > scaleMax)
      throw unreadable(`values.${column}`, `it has more digits after the point than ${type} keeps`)
    return text as string
  }
}
