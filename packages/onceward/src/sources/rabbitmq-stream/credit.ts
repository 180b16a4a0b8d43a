/** Most chunks under way at once; a publisher that is slow makes chunks of one record. */
const chunksMax = 16
const bytesUnderWay = 1024 * 1024

/** How many chunks the broker may still send, and how many more it should be allowed: about as many as fill what may be read ahead. */
export class Credit {
  #given: number
  #chunkBytes = 0

  constructor(given: number) {
    this.#given = given
  }

  /** Chunks allowed and not yet here. */
  get given(): number {
    return this.#given
  }

  arrived(bytes: number): void {
    this.#given--
    // The largest of late: one small chunk among large ones must not open the gates.
    this.#chunkBytes = Math.max(bytes, this.#chunkBytes * 0.9)
  }

  /** What to allow now; counted as given. */
  more(): number {
    const wanted = Math.min(chunksMax, Math.max(1, Math.floor(bytesUnderWay / this.#chunkBytes)))
    const more = wanted - this.#given
    // By halves, so that not every chunk costs a frame.
    if (more <= 0 || (this.#given > 0 && more < wanted / 2)) return 0
    this.#given += more
    return more
  }
}
