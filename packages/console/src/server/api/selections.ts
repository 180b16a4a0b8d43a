import { randomUUID } from 'node:crypto'
import { Problem } from '../http/problem.ts'

/** Exact rows that a person looked at. An act on the selection moves these rows and no others. */
export interface FrozenSelection {
  readonly id: string
  readonly person: string
  readonly consumer: string
  readonly ids: readonly string[]
  readonly digest: string
  /** Flags of the CLI that select the same rows. */
  readonly flags: Readonly<Record<string, unknown>>
  /** No filter of the CLI selects them: their ids do. */
  readonly byIds: boolean
  readonly until: number
}

export const selectionGone = () =>
  new Problem(404, 'selection_gone', 'This selection has expired. Select again. Nothing was changed.')

const lastsMs = 60 * 60_000
const selectionsMax = 1_000

/** Selections live in this process. After a restart a person selects again; acts are in the database. */
export class Selections {
  readonly #byId = new Map<string, FrozenSelection>()

  freeze(selection: Omit<FrozenSelection, 'id' | 'until'>): FrozenSelection {
    for (const [id, { until }] of this.#byId)
      if (until < Date.now() || this.#byId.size >= selectionsMax) this.#byId.delete(id)
    const frozen = { ...selection, id: randomUUID(), until: Date.now() + lastsMs }
    this.#byId.set(frozen.id, frozen)
    return frozen
  }

  /** Only for the person who froze it. */
  find(id: string, person: string): FrozenSelection {
    const found = this.#byId.get(id)
    if (found === undefined || found.person !== person || found.until < Date.now()) throw selectionGone()
    return found
  }
}
