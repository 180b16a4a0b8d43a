/**
 * Most suspects in one group. A crash costs a restart, a group costs one small transaction. Groups of 64
 * clear thousands of suspects in a second or two, and need at most 6 crashes until a suspect is alone.
 */
const groupMax = 64

/**
 * The room in one group of suspects. After a crash, each suspect of the group may only be tried in a group of
 * half the size. A group is never larger than its strictest member allows, so the cause is alone after log2 n
 * crashes.
 */
export class GroupRoom {
  #countMax: number
  #bytesLeft: number
  #count = 0

  constructor(countMax: number, bytesMax = Number.POSITIVE_INFINITY) {
    this.#countMax = Math.min(countMax, groupMax)
    this.#bytesLeft = bytesMax
  }

  /** Adds one more suspect; false if there is no room for it. The first one always fits. */
  take(limit: number, bytes = 0): boolean {
    const countMax = Math.min(this.#countMax, limit)
    if (this.#count > 0 && (this.#count >= countMax || bytes > this.#bytesLeft)) return false
    this.#countMax = countMax
    this.#bytesLeft -= bytes
    this.#count++
    return true
  }
}
