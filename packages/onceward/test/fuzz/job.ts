/** What a thread is told to do. */
export interface Job {
  readonly target: string
  readonly inputs: number
  readonly seed: number
  /** The number of the current input, its length and its bytes: what the thread does when it hangs. */
  readonly current: SharedArrayBuffer
}

/** Bytes before those of the input. */
export const currentHead = 8
