/** Every choice of a schedule, from one number (mulberry32): the same seed chooses the same again. */
export class Draws {
  #state: number

  constructor(seed: number, name = '') {
    let state = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b)
    for (let index = 0; index < name.length; index++) {
      state = Math.imul(state ^ name.charCodeAt(index), 0x01000193)
    }
    this.#state = state >>> 0
  }

  /** In [0, 1). */
  readonly next = (): number => {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  /** A whole number from 0 to `end` - 1. */
  below(end: number): number {
    return Math.floor(this.next() * end)
  }

  between(min: number, max: number): number {
    return min + this.below(max - min + 1)
  }

  chance(probability: number): boolean {
    return this.next() < probability
  }

  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)]!
  }
}
