/** One basic.ack: this tag alone, or every outstanding tag up to it. */
export interface Ack {
  readonly tag: number
  readonly upTo: boolean
}

/**
 * Decides which acknowledgements to send for one channel, whose tags count up from 1.
 *
 * `#low` is the lowest tag not settled; `#ahead` are the settled tags above it. A multiple ack of tag t
 * tells the broker to forget every outstanding tag up to t, so it is right exactly when all of them are
 * settled, that is for t < #low. Tags not yet received are above every settled tag, and so never included;
 * a gap in the tags would only keep #low where it is and leave single acks. The tag of a multiple ack must
 * itself be outstanding (RabbitMQ closes the channel otherwise), so it is the highest tag settled just now.
 * Settled tags above #low are acked one by one at once: holding them back until the gap closes would keep
 * the broker's window full behind one held retry and repeat more after a crash.
 *
 * Measured with test/rabbitmq/measure.ts (60,000 × 200 bytes, quorum queue, 2 busy cores, one run): the raw client
 * 47–53 k/s with single acks and 66–75 k/s with one multiple ack per 500; this source 57–65 k/s settling 500 at a
 * time. At a load average of ten, 16–28 k/s with multiple acks against 13–14 k/s when one held delivery forces singles.
 */
export class AckTracker {
  #low = 1
  readonly #ahead = new Set<number>()

  /** Takes tags settled now, in any order; a tag settled before is ignored. */
  settle(tags: readonly number[]): Ack[] {
    const fresh = tags.filter(tag => this.#add(tag))
    while (this.#ahead.delete(this.#low)) this.#low++
    const acks: Ack[] = []
    let prefixTag = 0
    let prefixCount = 0
    for (const tag of fresh) {
      if (tag > this.#low) acks.push({ tag, upTo: false })
      else {
        prefixCount++
        if (tag > prefixTag) prefixTag = tag
      }
    }
    if (prefixCount > 0) acks.unshift({ tag: prefixTag, upTo: prefixCount > 1 })
    return acks
  }

  #add(tag: number): boolean {
    if (tag < this.#low || this.#ahead.has(tag)) return false
    this.#ahead.add(tag)
    return true
  }
}
