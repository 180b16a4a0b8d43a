/**
 * Most chunks under way at once: what large chunks after many small ones may cost, and what a row of chunks
 * with one record needs.
 */
const chunksMax = 8
const bytesUnderWay = 1024 * 1024

/**
 * How many chunks the broker may still send, and how many more it should be allowed: about as many as fill
 * what may be read ahead. Begins with one and doubles, because nobody says beforehand how large a chunk is; a
 * credit that was given cannot be taken back.
 */
export class Credit {
  #given = 1
  #window = 1
  #chunkBytes = 0

  /** Chunks allowed and not yet here; one from the beginning. */
  get given(): number {
    return this.#given
  }

  arrived(bytes: number): void {
    this.#given--
    // The largest of late: one small chunk among large ones must not open the gates.
    this.#chunkBytes = Math.max(bytes, this.#chunkBytes * 0.98)
  }

  /** What to allow now; counted as given. */
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
