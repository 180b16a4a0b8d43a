import { setTimeout as delay } from 'node:timers/promises'
import type { Extent } from './extent.ts'

export interface AskAgain {
  readonly everyMs: number
  /** An answer that says that records are gone counts once it has stood this long. */
  readonly steadyMs: number
  /** A stream that is not served within this time is given up for now; nothing is lost by that. */
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
  /** Asks whoever may know better than the one before: the node we read from, then the leader. */
  readonly ask: (again: boolean) => Promise<Extent>
  /** True where a mark of ours is in the stream, so that it cannot be empty. */
  readonly marked: boolean
  /** True where the answer says nothing bad. */
  readonly fits: (extent: Extent) => boolean
  readonly timing?: AskAgain
}

/**
 * How far a stream reaches, once it says so itself. A broker that has just started, or a replica that has just got another leader, has the
 * records on disk and says for a second or more that the stream ends at 0, or earlier than it does. So an answer that fits is taken at
 * once; one that does not is asked for again until it has not moved for a while.
 */
export async function confirmExtent(question: ExtentQuestion): Promise<Extent> {
  const { stream, ask, marked, fits, timing = askAgain } = question
  const beganMs = timing.nowMs()
  let steady = { end: -1, sinceMs: 0 }
  for (let again = false; ; again = true) {
    const extent = await ask(again)
    const nowMs = timing.nowMs()
    if (!isServed(extent, marked)) {
      steady = { end: -1, sinceMs: 0 }
      if (nowMs - beganMs >= timing.unservedMs)
        throw new Error(`stream ${stream} is still recovering: the broker has records of it and serves none`)
    } else {
      if (fits(extent)) return extent
      if (steady.end !== extent.end) steady = { end: extent.end, sinceMs: nowMs }
      else if (nowMs - steady.sinceMs >= timing.steadyMs) return extent
    }
    await timing.pause(timing.everyMs)
  }
}

/** A stream that has chunks serves them once one is known to be committed. One that has a mark of ours has a chunk. */
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
