/** What can disagree, and what each disagreement means. */
const driftKinds = {
  'marker without effect':
    'The marker says applied and the sink has no row: the row was removed, or the marker was written by hand.',
  'effect without marker':
    'The sink has a row of a message that no marker knows: the marker was removed, or the row was written by hand. A redelivery would apply it again.',
  'effect of a message that is not applied':
    'The sink has a row and the marker says something else: one of the two was changed by hand.',
  'effect more than once': 'The sink has several rows of one message, and the contract says one.',
  'digest differs':
    'The row and the marker were written for different bytes: one of the two was changed by hand.',
  'row edited': 'The query reconcile.edited names the row: it is not what was written.',
  'summary differs from its facts': 'Counted again, the facts give another sum than the summary has.',
  'marker of no run':
    'No run of this consumer can have written the marker: it was put in or changed by hand.',
  'work without a row': 'The marker says that the work is kept, and nothing is held: it would never be done.',
  'row without its marker':
    'Work is held and its marker is gone or says it is finished: it would be done again, or twice.',
  'external effect without marker': 'A call was asked for by a message that is not marked as applied.',
  'business key without marker':
    'The key is used up by a message that no marker knows: what carries it is skipped as a duplicate.',
} as const

export type DriftKind = keyof typeof driftKinds

export interface DriftExample {
  readonly id: string
  readonly detail: string
}

export interface FoundDrift {
  readonly kind: DriftKind
  readonly meaning: string
  readonly count: number
  readonly examples: readonly DriftExample[]
}

/** Counts everything, keeps a few examples of each kind. */
export class DriftBook {
  readonly #examplesMax: number
  readonly #found = new Map<DriftKind, { count: number; examples: DriftExample[] }>()

  constructor(examplesMax: number) {
    this.#examplesMax = examplesMax
  }

  /** How many examples of a kind are still wanted. */
  room(kind: DriftKind): number {
    return this.#examplesMax - (this.#found.get(kind)?.examples.length ?? 0)
  }

  add(kind: DriftKind, count: number, examples: readonly DriftExample[]): void {
    if (count === 0) return
    const known = this.#found.get(kind) ?? { count: 0, examples: [] }
    known.count += count
    known.examples.push(...examples.slice(0, this.room(kind)))
    this.#found.set(kind, known)
  }

  list(): readonly FoundDrift[] {
    return [...this.#found].map(([kind, found]) => ({ kind, meaning: driftKinds[kind], ...found }))
  }
}
