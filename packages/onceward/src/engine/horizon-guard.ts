import type { Consumer } from '../contract/define-consumer.ts'
import type { StoreSession } from '../contracts/store.ts'
import { ownTimeMs } from '../message/own-time.ts'
import type { ReadableMessage, Received } from '../message/received.ts'
import type { Surroundings } from '../surroundings.ts'
import type { Fact } from './outcome.ts'
import { Verdict } from './verdicts.ts'

/** How far our reckoning of the database's time may be off before a message goes unasked. */
const slackMs = 600_000

/** Looks at what a batch has claimed, in its transaction: a marker that the claim missed was removed together with the horizon's move. */
export interface HorizonCheck {
  /** Adds a fact for each message that must not be applied by itself, or rejects where none of the batch may be. */
  check<M>(
    fresh: readonly ReadableMessage<M>[],
    facts: Map<Received<M>, Fact>,
    session: Pick<StoreSession<unknown>, 'horizon'>,
  ): Promise<void>
}

/**
 * Keeps a message whose marker may have been removed from passing for a new one. Markers are removed up to the database's time less
 * the contract's term, never further: so the store is asked only about messages older than that, and healthy batches pay a comparison each.
 */
export class HorizonGuard implements HorizonCheck {
  readonly #consumer: Pick<Consumer, 'name' | 'retention' | 'identity'>
  readonly #world: Pick<Surroundings, 'clock' | 'log'>
  #asked: { readonly purgedBeforeMs: number | null; readonly nowMs: number; readonly atMs: number } | null =
    null

  constructor(
    consumer: Pick<Consumer, 'name' | 'retention' | 'identity'>,
    world: Pick<Surroundings, 'clock' | 'log'>,
  ) {
    this.#consumer = consumer
    this.#world = world
  }

  async check<M>(
    fresh: readonly ReadableMessage<M>[],
    facts: Map<Received<M>, Fact>,
    session: Pick<StoreSession<unknown>, 'horizon'>,
  ): Promise<void> {
    if (session.horizon === undefined || fresh.length === 0) return
    const { identity, retention, name } = this.#consumer
    const times = fresh.map(received => ownTimeMs(received, identity.idTime as never))
    const oldestMs = times.reduce<number>(
      (least, ms) => Math.min(least, ms ?? least),
      Number.POSITIVE_INFINITY,
    )
    if (oldestMs >= this.#unaskedFromMs()) return
    const { purgedBeforeMs } = await this.#ask(session as Required<typeof session>)
    if (purgedBeforeMs === null || oldestMs >= purgedBeforeMs) return
    const behind = fresh.filter((_, index) => (times[index] ?? purgedBeforeMs) < purgedBeforeMs)
    const parks = retention?.behindHorizon !== 'apply'
    this.#world.log.warn(
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
    const { retention } = this.#consumer
    if (retention === null) return asked.purgedBeforeMs ?? Number.NEGATIVE_INFINITY
    const passedMs = Math.max(0, this.#world.clock.nowMs() - asked.atMs)
    return asked.nowMs + passedMs + slackMs - retention.markers
  }

  async #ask(session: Required<Pick<StoreSession<unknown>, 'horizon'>>) {
    const atMs = this.#world.clock.nowMs()
    const answer = await session.horizon()
    this.#asked = { ...answer, atMs }
    return answer
  }
}

const utc = new Intl.DateTimeFormat('sv-SE', { timeZone: 'UTC', dateStyle: 'short', timeStyle: 'medium' })

/** Of a time that the database gave. */
export function timeText(ms: number): string {
  return `${utc.format(ms)} UTC`
}
