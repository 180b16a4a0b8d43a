/** The part of an archive that a campaign reads, fixed at its preview. */
export interface ArchivePlan {
  /** Oldest pass first. */
  readonly files: readonly ArchivedFile[]
  /** Everything else that was found, by the reason for skipping it. */
  readonly leftOut: readonly LeftOut[]
}

export interface ArchivedFile {
  readonly name: string
  /** The file's size at the preview: a running pass may append. */
  readonly bytes: number
  /** SHA-256 of these bytes. */
  readonly digest: string
  readonly lines: number
}

export interface LeftOut {
  readonly what: string
  readonly count: number
}

/** Counts skipped files and rows, by reason. */
export class LeftOutCount {
  readonly #counts = new Map<string, number>()

  add(what: string, count = 1): void {
    this.#counts.set(what, (this.#counts.get(what) ?? 0) + count)
  }

  get list(): readonly LeftOut[] {
    return Array.from(this.#counts, ([what, count]) => ({ what, count }))
  }
}
