/**
 * The most suspects in one group. A death costs a restart, a group one small transaction: 64 clear thousands
 * of suspects in a second or two and cost at most 6 deaths until a suspect is alone.
 */
const groupMax = 64

/**
 * The place in one group of suspects. A suspect over whose group a process died may only be tried in a group
 * of half that size, so the group is never larger than the strictest of its members allows: after log2 n
 * deaths the cause is alone.
 */
export class GroupRoom {
  #countMax: number
  #bytesLeft: number
  #count = 0

  constructor(countMax: number, bytesMax = Number.POSITIVE_INFINITY) {
    this.#countMax = Math.min(countMax, groupMax)
    this.#bytesLeft = bytesMax
  }

  /** Takes the place of one more suspect; false when there is none for it. The first one always fits. */
  take(limit: number, bytes = 0): boolean {
    const countMax = Math.min(this.#countMax, limit)
    if (this.#count > 0 && (this.#count >= countMax || bytes > this.#bytesLeft)) return false
    this.#countMax = countMax
    this.#bytesLeft -= bytes
    this.#count++
    return true
  }
}
