import { realEnvironment } from 'onceward'
import type { Consumer } from '../../src/contract/define-consumer.ts'
import type { LiveAccess } from '../../src/review/live/access.ts'
import { checkLive } from '../../src/review/live/check-live.ts'
import type { Finding } from '../../src/review/rule.ts'

/** What a live check of these contracts says, as `OW205 queue q has …`. */
export async function liveFindings(
  consumers: readonly Consumer[],
  access: Omit<LiveAccess, 'env' | 'wallMs'>,
): Promise<readonly Finding[]> {
  const checked = consumers.map(consumer => ({ file: `${consumer.name}.ts`, consumer }))
  return checkLive(checked, { env: realEnvironment(), wallMs: Date.now, ...access })
}

/**
 * Notes which rules were seen to speak of a server and then, after it was repaired, to be silent again. At
 * the end every rule must have been seen, or be named here with the reason why a test cannot bring a server
 * into that state.
 */
export class Seen {
  readonly #spoke = new Set<string>()
  readonly #fellSilent = new Set<string>()

  note(id: string, before: readonly Finding[], after: readonly Finding[]): void {
    if (before.some(one => one.id === id)) this.#spoke.add(id)
    if (after.every(one => one.id !== id)) this.#fellSilent.add(id)
  }

  missing(ids: readonly string[], impossible: Readonly<Record<string, string>>): string[] {
    return ids.filter(id => !(id in impossible) && !(this.#spoke.has(id) && this.#fellSilent.has(id)))
  }
}
