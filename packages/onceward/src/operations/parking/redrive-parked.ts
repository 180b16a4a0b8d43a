import { inert, type Reach } from '../../crash-points.ts'
import { acts } from '../../drivers/postgres/acts.ts'
import { assertUsable } from '../../drivers/postgres/assert-usable.ts'
import { type RedriveReport, readRedrive } from '../../drivers/postgres/parking/read-redrive.ts'
import type { SqlPool } from '../../drivers/postgres/pool.ts'
import { type ActArguments, act, refused } from '../act.ts'

export interface RedriveRequest extends ActArguments {
  /** The same request made again continues the same redrive and never starts another. */
  readonly requestId: string
  readonly ids: readonly string[]
  /** The digest of the preview, in hexadecimal. */
  readonly digest: string
  /** Maximum messages per second across all processes that run it; null for no limit. */
  readonly perSecond: number | null
}

export interface RedriveStage {
  readonly state: 'moving' | 'stopped' | 'moved'
  readonly moved: number
  /** Messages released because the one they waited behind was moved. */
  readonly behind: number
  readonly left: number
  readonly waitMs: number
}

export interface RedriveEnvironment {
  /** Resolves after so many milliseconds. */
  pause(ms: number): Promise<void>
  readonly reach?: Reach | undefined
  /** Maximum messages per transaction. Default 2,000. */
  readonly stageMax?: number
  onStage?(stage: RedriveStage): void
}

/** Records the exact rows to move. Nothing moves yet. */
export async function startRedrive(
  pool: SqlPool,
  { requestId, consumer, ids, digest, perSecond, because }: RedriveRequest,
  reach: Reach = inert,
): Promise<{ readonly known: boolean }> {
  if (!/^[\w.:-]{1,100}$/.test(requestId))
    throw refused('A request id has 1 to 100 letters, digits and characters of _ . : -.')
  if (!/^[0-9a-f]{64}$/.test(digest)) throw refused('A digest has 64 hexadecimal digits.')
  const started = await act<{ known: boolean }>(pool, acts.redriveStart, [
    requestId,
    consumer,
    ids,
    digest,
    perSecond,
    because,
  ])
  reach('parking.selected')
  return started
}

/**
 * Releases the selection to the workers, stage by stage, until no rows are left or an operator stops it.
 * After a crash it continues when called again; concurrent calls take turns. Each row is judged in the
 * transaction that moves it.
 */
export async function runRedrive(
  pool: SqlPool,
  requestId: string,
  env: RedriveEnvironment,
): Promise<RedriveStage> {
  const reach = env.reach ?? inert
  const total = { moved: 0, behind: 0, left: 0 }
  for (;;) {
    const stage = await moveStage(pool, requestId, env.stageMax ?? 2_000, reach)
    total.moved += stage.moved
    total.behind += stage.behind
    total.left += stage.left
    const soFar = { ...stage, ...total }
    env.onStage?.(soFar)
    if (stage.state !== 'moving') return soFar
    if (stage.waitMs > 0) await env.pause(stage.waitMs)
  }
}

/** Moves at most `countMax` messages in one transaction. */
export async function moveStage(
  pool: SqlPool,
  requestId: string,
  countMax: number,
  reach: Reach = inert,
): Promise<RedriveStage> {
  const stage = await act<RedriveStage>(pool, acts.redriveStage, [requestId, countMax], () =>
    reach('parking.moving'),
  )
  reach('parking.moved')
  return stage
}

/** Stops a redrive. Messages that it has released stay released. Audited. */
export async function stopRedrive(pool: SqlPool, requestId: string, because: string): Promise<void> {
  await act(pool, acts.redriveStop, [requestId, because])
}

/** Null if there is no such redrive. */
export async function findRedrive(
  pool: SqlPool,
  requestId: string,
  countMax: number,
): Promise<RedriveReport | null> {
  await assertUsable(pool)
  return readRedrive(pool, requestId, countMax)
}

/** A redrive with its counts. */
export async function showRedrive(
  pool: SqlPool,
  requestId: string,
  countMax: number,
): Promise<RedriveReport> {
  const report = await findRedrive(pool, requestId, countMax)
  if (report === null) throw refused(`Redrive ${requestId} does not exist.`)
  return report
}
