import type { KeyFacts } from './read-facts.ts'

interface Writer {
  readonly names: ReadonlySet<string>
  readonly done: Promise<void>
}

/**
 * Batches that share a key write it in the order they came here. Whoever writes second waits for the other's
 * commit at the server anyway; sent at the same time the younger one may be first, and the facts of the other
 * are stale, each with a note and a second look: with 1,000 keys that was every other batch. Batches that
 * share none do not wait.
 */
export class WriteTurns {
  readonly #writing = new Set<Writer>()

  /** Resolves with the function that ends the turn: when the rows are locked, or the batch has failed. */
  async take(keys: readonly KeyFacts[]): Promise<() => void> {
    const before = [...this.#writing].filter(({ names }) => keys.some(({ name }) => names.has(name)))
    const { promise, resolve } = Promise.withResolvers<void>()
    const writer = { names: new Set(keys.map(({ name }) => name)), done: promise }
    this.#writing.add(writer)
    for (const { done } of before) await done
    return () => {
      this.#writing.delete(writer)
      resolve()
    }
  }
}
