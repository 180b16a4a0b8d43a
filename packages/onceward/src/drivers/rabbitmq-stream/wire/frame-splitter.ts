/** Larger than any frame with reasonable settings: a longer one is not this protocol. */
const frameBytesMax = 256 * 1024 * 1024

/** Splits a socket's input into frames, copying only frames that arrived in pieces. */
export class FrameSplitter {
  #pieces: Buffer[] = []
  #length = 0
  /** Size of the current frame, including its size field; 0 while unknown. */
  #wanted = 0

  /** Calls back once for every completed frame, starting at its key. Throws on an impossible size. */
  add(bytes: Buffer, onFrame: (frame: Buffer) => void): void {
    this.#pieces.push(bytes)
    this.#length += bytes.length
    while (this.#length >= 4) {
      if (this.#wanted === 0) this.#wanted = this.#size()
      if (this.#length < this.#wanted) return
      const all = this.#joined()
      const frame = all.subarray(4, this.#wanted)
      const rest = all.subarray(this.#wanted)
      this.#pieces = rest.length > 0 ? [rest] : []
      this.#length = rest.length
      this.#wanted = 0
      onFrame(frame)
    }
  }

  #size(): number {
    const size = this.#joined().readUInt32BE(0)
    if (size > frameBytesMax || size < 4)
      throw new Error(`a frame of ${size} bytes: this is not RabbitMQ's stream protocol`)
    return size + 4
  }

  #joined(): Buffer {
    if (this.#pieces.length > 1) this.#pieces = [Buffer.concat(this.#pieces, this.#length)]
    return this.#pieces[0]!
  }
}
