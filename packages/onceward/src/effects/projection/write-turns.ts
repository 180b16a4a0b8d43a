import type { KeyFacts } from './read-facts.ts'

interface Writer {
  readonly names: ReadonlySet<string>
  readonly done: Promise<void>
}

/**
 * Batches that share a key write it in order of arrival. The second writer waits for the first one's commit
 * on the server anyway. Sent concurrently, the later batch may write first, and the facts of the other become
 * stale, each with a note and a second read: with 1,000 keys that affected every other batch. Batches that
 * share no key do not wait.
 */
export class WriteTurns {
  readonly #writing = new Set<Writer>()

  /**
   * Resolves with the function that ends the turn. Call it when the rows are locked or the batch has failed.
   */
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
