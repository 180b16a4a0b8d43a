import { setTimeout as delay } from 'node:timers/promises'
import type { Extent } from './extent.ts'

export interface AskAgain {
  readonly everyMs: number
  /** Missing records count as missing once they have been missing for this long. */
  readonly steadyMs: number
  /**
   * A stream that is not served, or cannot commit, within this time is abandoned for now; no record is lost
   * by that.
   */
  readonly unservedMs: number
  readonly nowMs: () => number
  readonly pause: (ms: number) => Promise<unknown>
}

export const askAgain: AskAgain = {
  everyMs: 200,
  steadyMs: 3_000,
  unservedMs: 10_000,
  nowMs: () => performance.now(),
  pause: ms => delay(ms, undefined, { ref: false }),
}

export interface ExtentQuestion {
  readonly stream: string
  /**
   * Queries the node that is read from, and from the second time on the leader. Rejects when there is no
   * leader, or it is unreachable.
   */
  readonly ask: (again: boolean) => Promise<Extent>
  /** True when the stream contains a mark of this group, so it cannot be empty. */
  readonly marked: boolean
  /** True when the answer shows no loss. */
  readonly fits: (extent: Extent) => boolean
  /**
   * Resolves once the last queried node has committed a write of this client. Only then is it the leader,
   * with everything that was ever committed. Without it, for users who may not write, an answer that does not
   * fit counts once it has stood for `steadyMs`.
   */
  readonly prove?: () => Promise<void>
  readonly timing?: AskAgain
}

/**
 * The confirmed extent of a stream. An answer that fits is accepted at once. An answer that does not fit may
 * come from a recovering node or a replica that is behind. It may also come from a new leader that does not
 * know its replicas yet, or an old leader that lost contact with the others. So it counts only from the
 * leader, once the leader serves everything its log contained at the first query and has proved its
 * leadership.
 */
export async function confirmExtent(question: ExtentQuestion): Promise<Extent> {
  const { stream, ask, marked, fits, prove, timing = askAgain } = question
  const beganMs = timing.nowMs()
  let tail = -1
  let shortSinceMs: number | null = null
  for (let again = false; ; again = true) {
    const extent = await ask(again)
    if (isServed(extent, marked) && fits(extent)) return extent
    const nowMs = timing.nowMs()
    if (again) {
      if (tail < 0) tail = extent.tail
      const servesAll = isServed(extent, marked) && extent.whole && extent.committedChunk >= tail
      shortSinceMs = servesAll ? (shortSinceMs ?? nowMs) : null
      if (servesAll && prove !== undefined) {
        await prove()
        return extent
      }
      if (shortSinceMs !== null && nowMs - shortSinceMs >= timing.steadyMs) return extent
    }
    if (nowMs - beganMs >= timing.unservedMs)
      throw new Error(
        `stream ${stream} is still recovering: the broker has records that it does not serve yet`,
      )
    await timing.pause(timing.everyMs)
  }
}

/**
 * A stream with chunks serves them once one is known to be committed. A stream with a mark of this group has
 * a chunk.
 */
export function isServed({ committedChunk, firstChunk }: Extent, marked: boolean): boolean {
  return committedChunk >= 0 || (firstChunk < 0 && !marked)
}

/** Queries until the answer is not `gone`, or has stayed the same for a while. */
export async function confirmGone<T>(
  ask: () => Promise<T>,
  isGone: (answer: T) => boolean,
  timing: AskAgain = askAgain,
): Promise<T> {
  const beganMs = timing.nowMs()
  for (;;) {
    const answer = await ask()
    if (!isGone(answer) || timing.nowMs() - beganMs >= timing.steadyMs) return answer
    await timing.pause(timing.everyMs)
  }
}
