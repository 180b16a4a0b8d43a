import type { Consumer } from '../../contract/define-consumer.ts'
import { clockToleranceMs } from '../../contract/retention.ts'
import type { Environment } from '../../environment.ts'
import { ownTimeMs } from '../../message/own-time.ts'
import type { ReadableMessage, Received } from '../../message/received.ts'
import type { HistorySession, StoreSession } from '../../ports/store.ts'
import type { Fact } from './outcome.ts'
import { Verdict } from './verdicts.ts'

/**
 * How far our reckoning of the database's time may be off before a message goes unasked. Its clock may be
 * ahead by the first part when markers go.
 */
const slackMs = clockToleranceMs + 600_000

/**
 * A process of another contract may remove by another term, or by one where ours has none: it declares the
 * term minutes before its first pass.
 */
const askAgainMs = 60_000

type Horizon = Awaited<ReturnType<HistorySession['horizon']>>

/**
 * Looks at what a batch has claimed, in its transaction: a marker that the claim missed was removed together
 * with the horizon's move.
 */
export interface HorizonCheck {
  /**
   * Adds a fact for each message that must not be applied by itself, or rejects where none of the batch may
   * be.
   */
  check<M>(
    fresh: readonly ReadableMessage<M>[],
    facts: Map<Received<M>, Fact>,
    session: Pick<StoreSession<unknown>, 'history'>,
  ): Promise<void>
}

/**
 * Keeps a message whose marker may have been removed from passing for a new one. Markers are removed up to
 * the database's time less the shortest term that a process goes by: so the store is asked about messages
 * older than that, and once a minute to learn the term. Other batches pay a comparison for each message.
 */
export class HorizonGuard implements HorizonCheck {
  readonly #consumer: Pick<Consumer, 'name' | 'retention' | 'identity'>
  readonly #env: Pick<Environment, 'clock' | 'log'>
  #asked: (Horizon & { readonly atMs: number }) | null = null

  constructor(
    consumer: Pick<Consumer, 'name' | 'retention' | 'identity'>,
    env: Pick<Environment, 'clock' | 'log'>,
  ) {
    this.#consumer = consumer
    this.#env = env
  }

  async check<M>(
    fresh: readonly ReadableMessage<M>[],
    facts: Map<Received<M>, Fact>,
    session: Pick<StoreSession<unknown>, 'history'>,
  ): Promise<void> {
    if (session.history === undefined || fresh.length === 0) return
    const { identity, retention, name } = this.#consumer
    const times = fresh.map(received => ownTimeMs(received, identity.idTime as never))
    const oldestMs = times.reduce<number>(
      (least, ms) => Math.min(least, ms ?? least),
      Number.POSITIVE_INFINITY,
    )
    if (oldestMs >= this.#unaskedFromMs()) return
    const { purgedBeforeMs } = await this.#ask(session.history)
    if (purgedBeforeMs === null || oldestMs >= purgedBeforeMs) return
    const behind = fresh.filter((_, index) => (times[index] ?? purgedBeforeMs) < purgedBeforeMs)
    const parks = retention?.behindHorizon !== 'apply'
    this.#env.log.warn(
      parks
        ? 'messages older than the markers that are left: parked, a person decides'
        : 'messages older than the markers that are left: applied, as the contract says',
      { consumer: name, count: behind.length, purgedBefore: timeText(purgedBeforeMs) },
    )
    if (!parks) return
    const verdict = Verdict.park(
      `markers before ${timeText(purgedBeforeMs)} are removed: whether this message was applied is not known any more`,
      'behind_horizon',
    )
    for (const received of behind) facts.set(received, { kind: 'verdict', verdict })
  }

  /** Nothing from here on can be behind the horizon. */
  #unaskedFromMs(): number {
    const asked = this.#asked
    if (asked === null) return Number.POSITIVE_INFINITY
    const passedMs = Math.max(0, this.#env.clock.nowMs() - asked.atMs)
    if (passedMs >= askAgainMs) return Number.POSITIVE_INFINITY
    const never = Number.POSITIVE_INFINITY
    const keepMs = Math.min(this.#consumer.retention?.markers ?? never, asked.keepMs ?? never)
    return Math.max(asked.purgedBeforeMs ?? -never, asked.nowMs + passedMs + slackMs - keepMs)
  }

  async #ask(history: HistorySession) {
    const atMs = this.#env.clock.nowMs()
    const answer = await history.horizon()
    this.#asked = { ...answer, atMs }
    return answer
  }
}

const utc = new Intl.DateTimeFormat('sv-SE', { timeZone: 'UTC', dateStyle: 'short', timeStyle: 'medium' })

/** Of a time that the database gave. */
export function timeText(ms: number): string {
  return `${utc.format(ms)} UTC`
}
