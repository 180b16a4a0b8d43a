import type { EffectStart } from '../../contract/declared-effect.ts'
import type { Timers } from '../../environment.ts'
import type { GapAction, ProjectionHandler, ProjectionOptions, Repair } from './declaration.ts'
import { describeTable, type Table } from './describe-table.ts'
import { createFactReader, type FactReader } from './read-facts.ts'
import { type ProjectionStatements, tableStatements } from './table-statements.ts'
import { WriteTurns } from './write-turns.ts'

/** A projection that has been compared with its tables. */
export interface ProjectionPlan<M = unknown> {
  readonly live: ProjectionTable<M>
  readonly rebuild: ProjectionTable<M>
  readonly firstVersion: bigint
  readonly gap: GapPlan<M>
  readonly handle: ProjectionHandler<M> | null
  /** `handle` or `after` needs every fact that moved a row. */
  readonly followed: boolean
  readonly timers: Timers
  /** Several batches may write the same key concurrently. */
  readonly contended: boolean
  readonly turns: WriteTurns
  /**
   * How a key may be written without reading its row: not at all, `blind` where nothing depends on the
   * previous version, `returning` where the statement returns that version.
   */
  readonly upserts: 'no' | 'blind' | 'returning'
  /** Redeliveries reach the projection, which would note each of them. */
  readonly remembers: boolean
}

export interface ProjectionTable<M> {
  readonly table: Table
  readonly statements: ProjectionStatements
  readonly reader: FactReader<M>
}

export type GapPlan<M> =
  | { readonly policy: 'skips allowed' }
  | { readonly policy: 'rebuild' }
  | { readonly policy: 'act'; readonly action: GapAction; readonly repair: RepairPlan<M> | null }
  | {
      readonly policy: 'wait'
      readonly deadlineMs: number
      readonly atDeadline: GapAction
      readonly keyMax: number
      readonly totalMax: number
      readonly whenFull: GapAction
      readonly repair: RepairPlan<M> | null
    }

export type RepairPlan<M> = Required<Repair<M>>

export async function makePlan<M>(
  options: ProjectionOptions<M>,
  query: Parameters<typeof describeTable>[0],
  { consumer, env }: EffectStart<M>,
): Promise<ProjectionPlan<M>> {
  const target = async (place: 'table' | 'rebuildTable'): Promise<ProjectionTable<M>> => {
    const table = await describeTable(query, options, place, consumer.name)
    return { table, statements: tableStatements(table), reader: createFactReader(options, table) }
  }
  const live = await target('table')
  const gap = gapPlan(options)
  return {
    live,
    rebuild: options.rebuildTable === undefined ? live : await target('rebuildTable'),
    firstVersion: BigInt(options.firstVersion ?? 1),
    gap,
    handle: options.handle ?? null,
    followed: options.handle !== undefined || options.after !== undefined,
    timers: env.timers,
    contended: consumer.order === 'none',
    turns: new WriteTurns(),
    upserts: await upsertsOf(gap, options.after !== undefined, query),
    remembers: consumer.dedup === 'version',
  }
}

/** `returning old` needs PostgreSQL 18. */
const findReturning = `select current_setting('server_version_num')::integer >= 180000 as "returning"`

async function upsertsOf<M>(
  gap: GapPlan<M>,
  needsPrevious: boolean,
  query: Parameters<typeof describeTable>[0],
): Promise<ProjectionPlan<M>['upserts']> {
  const skips = gap.policy === 'skips allowed'
  if (skips && !needsPrevious) return 'blind'
  if (!skips && (gap.policy !== 'act' || gap.action !== 'accept')) return 'no'
  const { rows } = await query<{ returning: boolean }>(findReturning)
  return rows[0]!.returning ? 'returning' : 'no'
}

function gapPlan<M>({ gap }: ProjectionOptions<M>): GapPlan<M> {
  switch (gap) {
    case 'skips allowed':
    case 'rebuild':
      return { policy: gap }
    case 'accept latest':
      return { policy: 'act', action: 'accept', repair: null }
    case 'fail fast':
      return { policy: 'act', action: 'halt key', repair: null }
  }
  if (gap.policy === 'repair') return { policy: 'act', action: 'repair', repair: repairPlan(gap) }
  return { ...gap, repair: gap.repair === undefined ? null : repairPlan(gap.repair) }
}

function repairPlan<M>({ fetch, timeoutMs = 2_000, retryMs = 1_000 }: Repair<M>): RepairPlan<M> {
  return { fetch, timeoutMs, retryMs }
}
