import { setTimeout as delay } from 'node:timers/promises'
import type { Extent } from './extent.ts'

export interface AskAgain {
  readonly everyMs: number
  /** What is missing counts as missing once it has been for this long. */
  readonly steadyMs: number
  /**
   * A stream that is not served, or not committed to, within this time is given up for now; nothing is lost
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
   * Asks the node we read from, and from the second time on the leader. Rejects where there is none, or it
   * cannot be reached.
   */
  readonly ask: (again: boolean) => Promise<Extent>
  /** True where a mark of ours is in the stream, so that it cannot be empty. */
  readonly marked: boolean
  /** True where the answer says nothing bad. */
  readonly fits: (extent: Extent) => boolean
  /**
   * Resolves once the node that answered last has committed a write of ours: only then is it the leader, and
   * has all that was ever committed. Without it, for those who may not write, an answer that does not fit
   * counts once it has stood for `steadyMs`.
   */
  readonly prove?: () => Promise<void>
  readonly timing?: AskAgain
}

/**
 * How far a stream reaches, once it says so itself. An answer that fits is taken at once. One that does not
 * may come from a node that recovers, from a replica that is behind, from a new leader that does not know yet
 * what its replicas have, or from an old leader that was cut off from the others. So it counts only from the
 * leader, once that serves all that it had in its log when it was first asked, and has proved itself.
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
        `stream ${stream} is still recovering: the broker has records of it that it does not serve`,
      )
    await timing.pause(timing.everyMs)
  }
}

/**
 * A stream that has chunks serves them once one is known to be committed. One that has a mark of ours has a
 * chunk.
 */
export function isServed({ committedChunk, firstChunk }: Extent, marked: boolean): boolean {
  return committedChunk >= 0 || (firstChunk < 0 && !marked)
}

/** Asks until there is an answer other than `gone`, or it has been the same for a while. */
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
