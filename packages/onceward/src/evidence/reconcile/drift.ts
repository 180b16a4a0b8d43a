/** Kinds of drift and their meaning. */
const driftKinds = {
  'marker without effect':
    'The marker says applied and the sink has no row: the row was removed, or the marker was written by hand.',
  'effect without marker':
    'The sink has a row of a message without a marker: the marker was removed, or the row was written by hand. A redelivery would apply it again.',
  'effect of a message that is not applied':
    'The sink has a row and the marker says something else: one of the two was changed by hand.',
  'effect more than once': 'The sink has several rows of one message, and the contract says one.',
  'digest differs':
    'The row and the marker were written for different bytes: one of the two was changed by hand.',
  'row edited': 'The query reconcile.edited returns the row: it was changed after it was written.',
  'summary differs from its facts': 'The summary differs from the sum of its facts.',
  'marker of no run':
    'No run of this consumer can have written the marker: it was inserted or changed by hand.',
  'work without a row': 'The marker refers to held work that does not exist: the work would never be done.',
  'row without its marker':
    'Work is held, and its marker is missing or finished: the work would be done twice.',
  'external effect without marker': 'A message without an applied marker requested a call.',
  'business key without marker':
    'A message without a marker has used the key: other messages with the key are skipped as duplicates.',
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

/** Counts all drift and keeps a few examples of each kind. */
export class DriftBook {
  readonly #examplesMax: number
  readonly #found = new Map<DriftKind, { count: number; examples: DriftExample[] }>()

  constructor(examplesMax: number) {
    this.#examplesMax = examplesMax
  }

  /** How many examples of a kind may still be added. */
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
