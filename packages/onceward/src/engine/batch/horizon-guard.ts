import type { Consumer } from '../../contract/define-consumer.ts'
import { clockToleranceMs, shortestMarkersMs } from '../../contract/retention.ts'
import type { Environment } from '../../environment.ts'
import { ownTimeMs } from '../../message/own-time.ts'
import type { ReadableMessage, Received } from '../../message/received.ts'
import type { HistorySession } from '../../ports/history.ts'
import type { StoreSession } from '../../ports/store-session.ts'
import type { Fact } from './outcome.ts'
import { Verdict } from './verdicts.ts'

/**
 * The tolerated error of our estimate of the database's time. When markers are removed, its clock may be
 * ahead by the first part.
 */
const slackMs = clockToleranceMs + 600_000

/**
 * A process with another contract may remove markers after another term, also if our contract has none. It
 * declares the term minutes before its first pass.
 */
const askAgainMs = 60_000

type Horizon = Awaited<ReturnType<HistorySession['horizon']>>

/**
 * Checks the new messages of a batch in its transaction. A marker that the insert did not find was removed in
 * the transaction that moved the horizon.
 */
export interface HorizonCheck {
  /**
   * Adds a fact for each message that must not be applied automatically; rejects if none of the batch may be.
   */
  check<M>(
    fresh: readonly ReadableMessage<M>[],
    facts: Map<Received<M>, Fact>,
    session: Pick<StoreSession<unknown>, 'history'>,
  ): Promise<void>

  /** Called after a commit: whether the message was applied although its marker may have been removed. */
  isApplied?(received: Received): boolean
}

/**
 * Prevents a message whose marker may have been removed from counting as new. Markers are removed up to the
 * database's time less the shortest term of any process. The store is asked about older messages, and once a
 * minute to learn that term. Other batches cost one comparison per message.
 */
export class HorizonGuard implements HorizonCheck {
  readonly #consumer: Pick<Consumer, 'name' | 'retention' | 'identity'>
  readonly #env: Pick<Environment, 'clock' | 'log'>
  /** Null until a message is: one look-up less for each of the others. */
  #applied: WeakSet<Received> | null = null
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
    const timeOf = (received: ReadableMessage<M>) => ownTimeMs(received, identity.idTime as never)
    let oldestMs = Number.POSITIVE_INFINITY
    for (const received of fresh) oldestMs = Math.min(oldestMs, timeOf(received) ?? oldestMs)
    if (oldestMs >= this.#unaskedFromMs()) return
    const { purgedBeforeMs } = await this.#ask(session.history)
    if (purgedBeforeMs === null || oldestMs >= purgedBeforeMs) return
    const behind = fresh.filter(received => (timeOf(received) ?? purgedBeforeMs) < purgedBeforeMs)
    const parks = retention?.behindHorizon !== 'apply'
    this.#env.log.warn(
      parks
        ? 'messages older than the remaining markers: parked, an operator decides'
        : 'messages older than the remaining markers: applied, as the contract says',
      { consumer: name, count: behind.length, purgedBefore: timeText(purgedBeforeMs) },
    )
    if (!parks) {
      this.#applied ??= new WeakSet()
      for (const received of behind) this.#applied.add(received)
      return
    }
    const verdict = Verdict.park(
      `markers before ${timeText(purgedBeforeMs)} are removed: whether this message was applied is no longer known`,
      'behind_horizon',
    )
    for (const received of behind) facts.set(received, { kind: 'verdict', verdict })
  }

  isApplied(received: Received): boolean {
    return this.#applied?.has(received) === true
  }

  /** No message from this time on can be behind the horizon. */
  #unaskedFromMs(): number {
    const asked = this.#asked
    if (asked === null) return Number.POSITIVE_INFINITY
    const passedMs = Math.max(0, this.#env.clock.nowMs() - asked.atMs)
    if (passedMs >= askAgainMs) return Number.POSITIVE_INFINITY
    const never = Number.POSITIVE_INFINITY
    const { retention } = this.#consumer
    const ownMs = retention === null ? never : shortestMarkersMs(retention)
    const keepMs = Math.min(ownMs, asked.keepMs ?? never)
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

/** Formats a time of the database. */
export function timeText(ms: number): string {
  return `${utc.format(ms)} UTC`
}
