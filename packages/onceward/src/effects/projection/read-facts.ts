import type { BatchItem } from '../../contract/handler.ts'
import { type Verdict as AnyVerdict, Verdict } from '../../engine/batch/verdicts.ts'
import { anyText, errorText } from '../../errors.ts'
import { businessDigestOf } from '../../message/digest.ts'
import { type InexactNumbers, inexactOf, inexactWithin, unsafeText } from '../../message/inexact-numbers.ts'
import { wideDigits } from '../../message/wide-integer.ts'
import { Unfit } from '../declared/fit-column.ts'
import type { ProjectionOptions } from './declaration.ts'
import type { Column, Table } from './describe-table.ts'
import { deletionOf, isTombstone, readerOf } from './read-field.ts'

/** One message as read by the projection. */
export interface ProjectionFact<M = unknown> {
  /** Null for a fact from a repair. */
  readonly item: BatchItem<M> | null
  readonly message: M
  readonly version: bigint
  /** In the order of the table's value columns. */
  readonly values: readonly unknown[]
  readonly deletes: boolean
  /** The corrected version; null when it corrects none. */
  readonly corrects: string | null
  readonly digest: Buffer | null
}

/** The facts of one key in a batch. */
export interface KeyFacts<M = unknown> {
  /** Also the order key of its waiting messages. */
  readonly name: string
  readonly parts: readonly string[]
  /** Ordered by version, then by arrival. */
  readonly facts: ProjectionFact<M>[]
}

export interface FactReader<M> {
  /** Returns facts by key, keys in lock order. Messages that cannot be read get a verdict. */
  readAll(batch: readonly BatchItem<M>[], verdicts: Map<BatchItem<M>, AnyVerdict>): KeyFacts<M>[]
  /** Reads the answer of a repair. Throws when it cannot be read or belongs to another key. */
  readAnswer(message: M, key: KeyFacts<M>): ProjectionFact<M>
}

export function createFactReader<M>(options: ProjectionOptions<M>, table: Table): FactReader<M> {
  const keyReaders = Object.values(options.key).map(readerOf)
  const readVersion = readerOf(Object.values(options.version)[0]!)
  const valueReaders = Object.values(options.columns ?? {}).map(readerOf)
  const { corrects } = options
  const deletesBy = deletionOf(options.delete)

  const readFact = (item: BatchItem<M> | null, message: M): ProjectionFact<M> => {
    const version = versionOf(table.version, readVersion(message, item))
    const deletes = deletesBy(message, item)
    const bodyless = deletes && isTombstone(item)
    const declared = valueReaders.map(read => (bodyless ? null : read(message, item)))
    const inexact = inexactOf(message)
    const kept = declared.map((value, index) => storable(table.values[index]!, value, inexact))
    const values = options.cause ? [...kept, item?.envelope.id ?? null, item?.run ?? null] : kept
    const corrected = bodyless ? null : corrects?.(message)
    return {
      item,
      message,
      version,
      values,
      deletes,
      corrects: corrected == null ? null : anyText(corrected).slice(0, 100),
      digest: table.digest === null ? null : businessDigestOf([deletes, ...declared], inexact),
    }
  }
  const readKey = (message: M, item: BatchItem<M> | null) =>
    keyReaders.map((read, index) => keyPart(table.keys[index]!, read(message, item)))

  return {
    readAll(batch, verdicts) {
      const byName = new Map<string, KeyFacts<M>>()
      for (const item of batch) {
        try {
          const parts = readKey(item.message, item)
          const fact = readFact(item, item.message)
          const name = nameOf(parts)
          const key = byName.get(name)
          if (key === undefined) byName.set(name, { name, parts, facts: [fact] })
          else insertInOrder(key.facts, fact)
        } catch (error) {
          verdicts.set(item, unreadable(error))
        }
      }
      return [...byName.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
    },
    readAnswer(message, key) {
      const name = nameOf(readKey(message, null))
      if (name !== key.name) throw new TypeError(`the source of truth answered for another key, ${name}`)
      return readFact(null, message)
    },
  }
}

class Malformed extends Error {
  readonly code: 'key_malformed' | 'version_malformed' | 'column_unreadable'
  constructor(code: Malformed['code'], message: string) {
    super(message)
    this.code = code
  }
}

function unreadable(error: unknown): AnyVerdict {
  if (error instanceof Malformed) return Verdict.quarantine(error.message, error.code)
  return Verdict.quarantine(`a declared function failed: ${errorText(error, 500)}`, 'column_unreadable')
}

/**
 * A batch is sent as one array per column. A list among its values would spill into the neighbouring keys.
 * Text that PostgreSQL refuses would fail the whole statement, and malformed Unicode would be stored as other
 * text.
 */
function storable(column: Column, value: unknown, inexact: InexactNumbers | null): unknown {
  const { name, sent } = column
  const malformed = (why: string) => new Malformed('column_unreadable', `column ${name}: ${why}`)
  if (sent === 'as json') {
    const why = inexact === null ? null : inexactWithin(value, inexact)
    if (why !== null) throw malformed(why)
    return value
  }
  if (Array.isArray(value) && sent === 'as is')
    throw malformed('it is a list, but the column stores one value')
  assertStorable(value, malformed)
  return fitted(column, value, inexact, malformed)
}

function assertStorable(value: unknown, malformed: (why: string) => Malformed): void {
  if (typeof value === 'string' && (!value.isWellFormed() || value.includes('\0')))
    throw malformed('it is not well-formed text')
  if (Array.isArray(value)) for (const element of value) assertStorable(element, malformed)
}

function fitted(
  { fit }: Column,
  value: unknown,
  inexact: InexactNumbers | null,
  malformed: (why: string) => Malformed,
): unknown {
  try {
    return fit(wideDigits(value) ?? value, inexact)
  } catch (error) {
    throw error instanceof Unfit ? malformed(error.message) : error
  }
}

/** The parts of a key as PostgreSQL writes them, so one row never has two names here. */
function keyPart(column: Column, given: unknown): string {
  const { name, type } = column
  const malformed = (what: string) => new Malformed('key_malformed', `key column ${name}: ${what}`)
  const value = wideDigits(given) ?? given
  if (typeof value === 'number' && !Number.isSafeInteger(value))
    throw malformed(Number.isInteger(value) ? unsafeText(value) : `${value} is not a whole number`)
  const text = typeof value === 'number' || typeof value === 'bigint' ? String(value) : value
  if (typeof text !== 'string' || text === '') throw malformed('the message has no value for it')
  if (type === 'uuid') {
    if (!/^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/i.test(text)) throw malformed('it is not a uuid')
    return text.toLowerCase()
  }
  if (type === 'text' || type === 'character varying') {
    if ((text.length > 250 && Buffer.byteLength(text) > 1_000) || text.includes('\0') || !text.isWellFormed())
      throw malformed('it is longer than 1,000 bytes or not well-formed text')
    return fitted(column, text, null, malformed) as string
  }
  if (!/^-?(0|[1-9]\d{0,18})$/.test(text) || text === '-0') throw malformed('it is not a whole number')
  return fitted(column, text, null, malformed) as string
}

function versionOf(column: Column, given: unknown): bigint {
  const value = wideDigits(given) ?? given
  const malformed = (what: string) =>
    new Malformed('version_malformed', `the version is ${anyText(value).slice(0, 50)}: ${what}`)
  const isWhole =
    typeof value === 'bigint' ||
    (typeof value === 'number' && Number.isSafeInteger(value)) ||
    (typeof value === 'string' && /^\d{1,19}$/.test(value))
  if (!isWhole)
    throw malformed(
      typeof value === 'number' && Number.isInteger(value) ? unsafeText(value) : 'expected a whole number',
    )
  const version = BigInt(value)
  if (version < 0n) throw malformed('versions are not negative')
  fitted(column, version, null, malformed)
  return version
}

/** An unambiguous name for a key of any parts. */
export function nameOf(parts: readonly string[]): string {
  return parts.length === 1 ? parts[0]! : JSON.stringify(parts)
}

/** Searches from the end, because facts of a key mostly arrive in order. */
function insertInOrder<M>(facts: ProjectionFact<M>[], fact: ProjectionFact<M>): void {
  let place = facts.length
  while (place > 0 && facts[place - 1]!.version > fact.version) place--
  facts.splice(place, 0, fact)
}
