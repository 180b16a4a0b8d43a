import { errorCode } from '../../errors.ts'
import type { Surroundings } from '../../surroundings.ts'
import { awayDelayMs } from '../store-away.ts'
import type { PublishedRows } from './publish-rows.ts'

/** The broker looked at the message and does not want it: trying again soon helps nobody. */
export function isRefusal(error: Error): boolean {
  return ['publish_unroutable', 'publish_refused'].includes(errorCode(error))
}

/** While a broker takes nothing at all, rounds are begun less and less often, down to one in five seconds. */
export class BrokerPause {
  readonly #world: Pick<Surroundings, 'clock' | 'random'>
  #failures = 0
  #untilMs = Number.NEGATIVE_INFINITY

  constructor(world: Pick<Surroundings, 'clock' | 'random'>) {
    this.#world = world
  }

  get on(): boolean {
    return this.#world.clock.nowMs() < this.#untilMs
  }

  /** From a round of which it took nothing to one of which it took or refused something. */
  get away(): boolean {
    return this.#failures > 0
  }

  heed({ confirmed, failed }: PublishedRows): void {
    const away = confirmed.length === 0 && failed.length > 0
    if (!away || failed.some(({ error }) => isRefusal(error))) this.#failures = 0
    else this.#untilMs = this.#world.clock.nowMs() + awayDelayMs(this.#failures++, this.#world.random())
  }
}
