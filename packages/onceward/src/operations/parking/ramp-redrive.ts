import { readLastMove, readOutcomesSince } from '../../drivers/postgres/parking/read-redrive.ts'
import type { SqlPool } from '../../drivers/postgres/pool.ts'
import {
  moveStage,
  type RedriveEnvironment,
  type RedriveStage,
  showRedrive,
  stopRedrive,
} from './redrive-parked.ts'

/** A redrive that begins with few messages and stops when too many of them fail again. */
export interface Ramp {
  /** Sizes of the first stages; the last stage has the rest. */
  readonly steps: readonly number[]
  /** The largest accepted share of failures, between 0 and 1. */
  readonly failedShareMax: number
}

/** The stages of a redrive where none are given. */
export const defaultRamp: Ramp = { steps: [1, 10, 100], failedShareMax: 0.1 }

export interface RampProgress {
  readonly step: number
  readonly moved: number
  readonly behind: number
  readonly left: number
  /**
   * Messages that this run moved and that have an outcome, and how many of them are parked again. What was
   * moved before the redrive was continued does not count.
   */
  readonly finished: number
  readonly failed: number
}

/** How far a redrive in stages has come, and why it stopped. */
export interface RampResult extends RampProgress {
  readonly state: RedriveStage['state']
  /** Why the ramp stopped the redrive; null when it did not. */
  readonly stoppedBecause: string | null
}

export interface RampEnvironment extends Pick<RedriveEnvironment, 'pause'> {
  onProgress?(progress: RampProgress): void
  /** Interval between two looks at the outcomes, in milliseconds. Default 250. */
  readonly lookMs?: number
}

const stageMax = 2_000

/**
 * Moves the redrive step by step. After each step it waits until every moved message has an outcome. When the
 * share of messages that are parked again exceeds the limit, it stops the redrive with that reason. An
 * operator can continue the redrive under the same name: the share then counts from that moment.
 */
export async function rampRedrive(
  pool: SqlPool,
  requestId: string,
  ramp: Ramp,
  env: RampEnvironment,
): Promise<RampResult> {
  const total = { moved: 0, behind: 0, left: 0 }
  const since = await readLastMove(pool, requestId)
  for (let step = 0; ; step++) {
    const wanted = ramp.steps[step] ?? Number.POSITIVE_INFINITY
    const state = await moveStep(pool, requestId, wanted, total, env)
    const counts = await untilNoneAtWork(pool, { requestId, since }, env, { step, ...total })
    const progress = { step, ...total, ...counts }
    env.onProgress?.(progress)
    if (state !== 'moving') return { ...progress, state, stoppedBecause: null }
    const share = counts.finished === 0 ? 0 : counts.failed / counts.finished
    if (share > ramp.failedShareMax) {
      const because = `${counts.failed} of ${counts.finished} tried messages are parked again`
      await stopRedrive(pool, requestId, because)
      return { ...progress, state: 'stopped', stoppedBecause: because }
    }
  }
}

async function moveStep(
  pool: SqlPool,
  requestId: string,
  wanted: number,
  total: { moved: number; behind: number; left: number },
  env: RampEnvironment,
): Promise<RedriveStage['state']> {
  for (let taken = 0; ; ) {
    const stage = await moveStage(pool, requestId, Math.min(stageMax, wanted - taken))
    taken += stage.moved + stage.left
    total.moved += stage.moved
    total.behind += stage.behind
    total.left += stage.left
    if (stage.state !== 'moving' || taken >= wanted) return stage.state
    if (stage.waitMs > 0) await env.pause(stage.waitMs)
  }
}

/** Waits until no moved message is at work. Counts those that were moved after `since`. */
async function untilNoneAtWork(
  pool: SqlPool,
  { requestId, since }: { readonly requestId: string; readonly since: string | null },
  env: RampEnvironment,
  before: Omit<RampProgress, 'finished' | 'failed'>,
): Promise<{ readonly finished: number; readonly failed: number }> {
  for (;;) {
    const { outcomes, state } = await showRedrive(pool, requestId, 0)
    const { 'at work': _working, ...done } = await readOutcomesSince(pool, requestId, since)
    const failed = done['parked again'] ?? 0
    const finished = Object.entries(done).reduce(
      (sum, [name, count]) => sum + (name === 'left' ? 0 : count),
      0,
    )
    if ((outcomes['at work'] ?? 0) === 0 || state === 'stopped') return { finished, failed }
    env.onProgress?.({ ...before, finished, failed })
    await env.pause(env.lookMs ?? 250)
  }
}
