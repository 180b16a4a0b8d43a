/** What a campaign reads out of an archive, fixed at its preview. */
export interface ArchivePlan {
  /** Oldest pass first. */
  readonly files: readonly ArchivedFile[]
  /** Whatever else was found, by why it is not read. */
  readonly leftOut: readonly LeftOut[]
}

export interface ArchivedFile {
  readonly name: string
  /** Of it, as long as it was then: a pass that is under way may append. */
  readonly bytes: number
  /** SHA-256 of these bytes. */
  readonly digest: string
  readonly lines: number
}

export interface LeftOut {
  readonly what: string
  readonly count: number
}

/** Counts what is left out, by why. */
export class LeftOutCount {
  readonly #counts = new Map<string, number>()

  add(what: string, count = 1): void {
    this.#counts.set(what, (this.#counts.get(what) ?? 0) + count)
  }

  get list(): readonly LeftOut[] {
    return Array.from(this.#counts, ([what, count]) => ({ what, count }))
  }
}
