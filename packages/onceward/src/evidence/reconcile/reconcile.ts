import type { Consumer } from '../../contract/define-consumer.ts'
import { assertUsable } from '../../drivers/postgres/assert-usable.ts'
import type { SqlPool } from '../../drivers/postgres/pool.ts'
import type { Sink } from '../../drivers/postgres/reconcile/compare-sink.ts'
import { type Compared, readPurgedBefore } from '../../drivers/postgres/reconcile/own-drift.ts'
import { readOnly } from '../../drivers/postgres/reconcile/read-only.ts'
import { OncewardError } from '../../errors.ts'
import { readConsumers } from '../find-subjects.ts'
import { DriftBook, type FoundDrift } from './drift.ts'
import { compareLedger, compareOwn } from './own-drift.ts'
import { compareSink, findEdited } from './sink-drift.ts'

export interface ReconcileOptions {
  /** Kept of each kind. Default 20. */
  readonly examplesMax?: number
  readonly onProgress?: (step: string, markers: number) => void
}

export interface Reconciliation {
  readonly consumer: string
  readonly generation: number
  readonly markers: number
  readonly effects: number
  /** Empty: no drift, within `limits`. */
  readonly drift: readonly FoundDrift[]
  /** What was not compared, and why. */
  readonly limits: readonly string[]
}

type Reconciled = Pick<Consumer, 'name' | 'generation' | 'dedup' | 'effect' | 'reconcile'>

/** Compares markers with effects. Reads only; memory use does not grow with the tables. */
export async function reconcile(
  pool: SqlPool,
  consumer: Reconciled,
  { examplesMax = 20, onProgress = () => {} }: ReconcileOptions = {},
): Promise<Reconciliation> {
  await assertUsable(pool)
  if (consumer.dedup !== 'marker')
    throw new OncewardError(
      'usage',
      `Consumer ${consumer.name} deduplicates by ${consumer.dedup} and has no markers to compare. Nothing was changed.`,
    )
  const compared = await comparedOf(pool, consumer)
  const book = new DriftBook(examplesMax)
  const limits: string[] = []
  const total = { markers: 0, effects: 0 }
  const sinks = sinksOf(consumer)
  if (sinks.length === 0)
    limits.push(
      'No effects were compared: the contract has no reconcile section, and its effect names no messages.',
    )
  for (const sink of sinks) {
    const found = await compareSink(pool, sink, compared, book, markers => onProgress(sink.place, markers))
    total.markers = Math.max(total.markers, found.markers)
    total.effects += found.effects
    if (found.unnamed > 0)
      limits.push(
        `${found.unnamed} rows of ${sink.place} name no message and were not compared: they were written by hand, or before the consumer.`,
      )
    if (found.unjudged > 0)
      limits.push(
        `${found.unjudged} rows of ${sink.place} have no marker, and markers before ${compared.purgedBefore!.toISOString()} are removed. Let the query return "at" for each row, so that rows with a missing marker can be identified.`,
      )
  }
  if (consumer.reconcile !== undefined) await findEdited(pool, consumer.reconcile, book)
  await findSummaryDrift(pool, consumer, book)
  onProgress("the inbox's own tables", total.markers)
  await compareOwn(pool, compared, book)
  await compareLedger(pool, consumer.name, compared, book)
  return { consumer: consumer.name, generation: consumer.generation, ...total, drift: book.list(), limits }
}

async function comparedOf(pool: SqlPool, { name, generation }: Reconciled): Promise<Compared> {
  const known = await readConsumers(pool, name)
  const own = known.find(one => one.generation === generation)
  if (own === undefined)
    throw new OncewardError(
      'usage',
      `Consumer ${name} never ran in this database as generation ${generation}; known: ${known.map(one => one.generation).join(', ')}. Nothing was changed.`,
    )
  const generations = known.map(one => one.consumerId)
  return { consumerId: own.consumerId, generations, purgedBefore: await readPurgedBefore(pool, generations) }
}

/** The contract's query, and the tables of its declared effect that name their messages. */
function sinksOf({ name, effect, reconcile }: Reconciled): readonly Sink[] {
  const traces = effect?.apply?.traces?.() ?? []
  const declared = traces.flatMap(({ table, message, at, consumer, covers }) => {
    if (message === null) return []
    const quoted = (column: string) => `t."${column}"`
    const when = at === null || covers === 'some' ? '' : `, ${quoted(at)} as at`
    const mine = consumer === null ? '' : ` where ${quoted(consumer)} = '${name}'`
    const from = table.split('.').map(part => `"${part}"`)
    return [
      {
        place: table,
        covers,
        effects: `select ${quoted(message)} as message_id${when} from ${from.join('.')} as t${mine}`,
      },
    ]
  })
  return [...(reconcile === undefined ? [] : [{ ...reconcile, place: 'reconcile.effects' }]), ...declared]
}

interface Summed {
  drift(
    query: unknown,
  ): Promise<readonly { readonly key: string; readonly held: unknown; readonly counted: unknown }[]>
}

/** Recounts the sums of effects that keep their facts. */
async function findSummaryDrift(pool: SqlPool, { effect }: Reconciled, book: DriftBook): Promise<void> {
  const apply = effect?.apply as Partial<Summed> | undefined
  if (apply?.drift === undefined) return
  const rows = await apply.drift(async (text: string, values?: readonly unknown[]) =>
    readOnly(pool, 'the summary', text, values),
  )
  const said = (value: unknown) => (value === null ? 'nothing' : JSON.stringify(value))
  const examples = rows.map(({ key, held, counted }) => ({
    id: key,
    detail: `has ${said(held)}, counted ${said(counted)}`,
  }))
  book.add('summary differs from its facts', rows.length, examples)
}
