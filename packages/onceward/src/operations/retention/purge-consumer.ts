import { durationText } from '../../contract/duration.ts'
import type { Retention } from '../../contract/retention.ts'
import type { SqlPool } from '../../drivers/postgres/pool.ts'
import { liesInDays, readDays } from '../../drivers/postgres/retention/marker-tables.ts'
import { purgeBatch } from '../../drivers/postgres/retention/purge-batch.ts'
import { type Cutoff, readCutoffs } from '../../drivers/postgres/retention/read-cutoffs.ts'
import type { Environment } from '../../environment.ts'
import { OncewardError } from '../../errors.ts'
import { ArchiveFile, type ArchiveOptions } from './archive-file.ts'
import { assertClocksAgree, type ClockWatch } from './clock-watch.ts'
import { dropDays } from './drop-days.ts'
import { removeReceipts } from './remove-receipts.ts'
import { termsOf } from './terms.ts'

export interface PurgeOptions {
  readonly pool: SqlPool
  readonly env: Environment
  readonly consumerId: number
  readonly consumerName: string
  readonly retention: Retention
  /** Required when the contract archives. */
  readonly archive?: ArchiveOptions | undefined
  readonly clocks: ClockWatch
  /** Share of its time that a pass may spend on the server; it pauses for the rest. Default 0.1. */
  readonly share?: number
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: (done: PurgeProgress) => void
}

export interface PurgeProgress {
  readonly kind: string
  readonly removed: number
  /** Progress through the table of this kind, from 0 to 1. */
  readonly part: number
}

export interface PurgeResult {
  readonly removed: Readonly<Record<string, number>>
  /** Why the pass ended early; null when it was complete. */
  readonly ended: 'stopped' | 'another process is removing' | null
  /**
   * Work postponed to a later pass, with the reason: days of markers, or rows kept longer after a step of the
   * database's clock. Null when there is none.
   */
  readonly putOff: string | null
}

/** Target duration of a batch: short for a transaction that waits for one of its rows. */
const batchMs = 25
const blocksFirst = 16
const blocksMax = 2_048
const shareDefault = 0.1

/**
 * One pass over all kinds of a consumer. It can stop and restart at any point: each batch is one transaction.
 */
export async function purgeConsumer(options: PurgeOptions): Promise<PurgeResult> {
  const { pool, consumerId, retention, clocks } = options
  assertArchive(options)
  const { nowMs, cutoffs } = await readCutoffs(pool, consumerId, termsOf(retention))
  assertClocksAgree(clocks, nowMs, options.consumerName)
  const removed: Record<string, number> = {}
  let putOff = steppedText(cutoffs)
  for (const cutoff of cutoffs) {
    const parts = await partsOf(cutoff, nowMs, options)
    if (parts.putOff !== null) putOff = putOff === null ? parts.putOff : `${putOff}; ${parts.putOff}`
    removed[cutoff.kind.kind] = parts.removed
    if (parts.ended !== null) return { removed, ended: parts.ended, putOff }
    for (const part of parts.walked) {
      const { count, ended } = await purgeKind(part, nowMs, options).catch(unlessGone(part, cutoff))
      removed[cutoff.kind.kind]! += count
      if (ended !== null) return { removed, ended, putOff }
    }
  }
  return { removed, ended: null, putOff }
}

function steppedText(cutoffs: readonly Cutoff[]): string | null {
  const longerMs = Math.max(0, ...cutoffs.map(one => one.longerMs))
  if (longerMs === 0) return null
  return `kept up to ${durationText(Math.round(longerMs))} longer: the database's clock was set forward (onceward.clock_step)`
}

/** Another pass may have dropped the day meanwhile. */
function unlessGone(part: Cutoff, whole: Cutoff) {
  return (error: unknown): Awaited<ReturnType<typeof purgeKind>> => {
    if (part.table !== whole.table && (error as { code?: string }).code === '42P01')
      return { count: 0, ended: null }
    throw error
  }
}

/**
 * Tables to scan after whole days were dropped. When the contract no longer asks for partitions, its days are
 * scanned like the rest.
 */
async function partsOf(cutoff: Cutoff, nowMs: number, options: PurgeOptions) {
  const { pool, env, consumerId, retention, signal } = options
  if (cutoff.kind.kind === 'receipts') {
    const archive = archiveFor('receipts', nowMs, options)
    return removeReceipts(cutoff, { pool, consumerId, reach: env.reach, signal, archive })
  }
  const whole = { removed: 0, walked: [cutoff], putOff: null, ended: null }
  if (cutoff.kind.kind !== 'markers' || !(await liesInDays(pool, consumerId))) return whole
  if (retention.partitions === 'daily') return dropDays(pool, consumerId, cutoff, env.reach, signal)
  const days = await readDays(pool, consumerId, cutoff.cutoff)
  return { ...whole, walked: [cutoff, ...days.map(({ table, blocks }) => ({ ...cutoff, table, blocks }))] }
}

async function purgeKind(
  { kind, cutoff, table, blocks, tenancy }: Cutoff,
  nowMs: number,
  options: PurgeOptions,
): Promise<{ count: number; ended: PurgeResult['ended'] }> {
  const { pool, env, consumerId, signal, share = shareDefault } = options
  const archive = archiveFor(kind.kind, nowMs, options)
  let count = 0
  let width = blocksFirst
  try {
    for (let fromBlock = 0; fromBlock < blocks; ) {
      if (signal?.aborted) return { count, ended: 'stopped' }
      const toBlock = Math.min(fromBlock + width, blocks)
      const beganMs = env.clock.nowMs()
      const removed = await purgeBatch(
        pool,
        { kind, table, consumerId, cutoff, tenancy, fromBlock, toBlock },
        archive,
        env.reach,
      )
      if (removed === null) return { count, ended: 'another process is removing' }
      env.reach('retention.committed')
      const tookMs = Math.max(1, env.clock.nowMs() - beganMs)
      count += removed
      fromBlock = toBlock
      options.onProgress?.({ kind: kind.kind, removed: count, part: toBlock / blocks })
      width = nextWidth(width, tookMs)
      if (share < 1) await pause(env, tookMs * (1 / share - 1), signal)
    }
  } finally {
    await archive?.close()
  }
  return { count, ended: null }
}

/** Doubles while batches are fast and halves after a slow one, to spare a busy server. */
function nextWidth(width: number, tookMs: number): number {
  if (tookMs > batchMs * 2) return Math.max(1, Math.floor(width / 2))
  return tookMs < batchMs / 2 ? Math.min(blocksMax, width * 2) : width
}

function pause({ timers }: Environment, delayMs: number, signal: AbortSignal | undefined): Promise<void> {
  if (signal?.aborted) return Promise.resolve()
  return new Promise(resolve => {
    const done = () => {
      cancel()
      signal?.removeEventListener('abort', done)
      resolve()
    }
    const cancel = timers.after(delayMs, done)
    signal?.addEventListener('abort', done)
  })
}

function assertArchive({ retention, archive, consumerName }: PurgeOptions): void {
  if (retention.action === 'delete' || archive !== undefined) return
  throw new OncewardError(
    'configuration',
    `Consumer ${consumerName} archives removed rows, but no folder is configured. Set ONCEWARD_ARCHIVE_FOLDER, or pass --archive. Nothing was removed.`,
  )
}

/** Named by the database's clock. */
function archiveFor(kind: string, nowMs: number, { archive, consumerName, retention }: PurgeOptions) {
  if (archive === undefined || retention.action !== 'archive') return null
  return new ArchiveFile(archive, `${consumerName}.${kind}.${Math.floor(nowMs)}`)
}
