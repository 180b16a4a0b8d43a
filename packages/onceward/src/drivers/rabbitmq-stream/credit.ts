/**
 * Maximum chunks in flight: it bounds the cost of large chunks after many small ones, and suffices for a run
 * of chunks with one record each.
 */
const chunksMax = 8
const bytesUnderWay = 1024 * 1024

/**
 * Tracks how many chunks the broker may still send, and decides how many more to allow: about as many as fill
 * the read-ahead. It begins with one and doubles, because chunk sizes are unknown beforehand. A credit cannot
 * be revoked.
 */
export class Credit {
  #given = 1
  #window = 1
  #chunkBytes = 0

  /** Chunks allowed and not yet received; initially one. */
  get given(): number {
    return this.#given
  }

  arrived(bytes: number): void {
    this.#given--
    // The largest recent chunk: one small chunk among large ones must not raise the credit.
    this.#chunkBytes = Math.max(bytes, this.#chunkBytes * 0.98)
  }

  /** The credit to grant now; it is counted as given. */
  more(): number {
    this.#window = Math.min(chunksMax, this.#window * 2)
    const wanted = Math.min(this.#window, Math.max(1, Math.floor(bytesUnderWay / this.#chunkBytes)))
    const more = wanted - this.#given
    // By halves, so that not every chunk costs a frame.
    if (more <= 0 || (this.#given > 0 && more < wanted / 2)) return 0
    this.#given += more
    return more
  }
}
