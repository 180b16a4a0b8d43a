import { setTimeout as pause } from 'node:timers/promises'
import type { PartitionProgress } from '../log/partition-progress.ts'
import type { CommitAnswer, Member, OffsetToCommit } from './client/kafka-client.ts'

/**
 * The right to commit for one partition. It ends with the membership or the ownership it was granted under.
 */
export interface PartitionLease {
  readonly partition: number
  readonly progress: PartitionProgress
  readonly member: Member
  /** The metadata found on the broker, kept because it records the number of partitions at the beginning. */
  readonly metadata: string
  /** The position that the broker last confirmed. */
  confirmed: string
}

export interface CommitterOptions {
  readonly send: (offsets: readonly OffsetToCommit[], member: Member) => Promise<CommitAnswer>
  readonly leaderEpochAt: (partition: number, offset: number) => number
  /** Pause after a commit before the next; the first is sent at once. */
  readonly restMs: number
  readonly onTrouble: (reason: string) => void
}

const retryDelayMs = 100

/** A caller waiting until the positions of these leases are committed. */
interface Wait {
  readonly leases: Set<PartitionLease>
  readonly done: (missed: number) => void
  missed: number
}

/**
 * Commits positions to the broker with one commit in flight; positions that move meanwhile join the next. A
 * refused commit is repeated only while the lease is valid: the broker accepts a live member's commit even
 * for another member's partition.
 */
export class Committer {
  readonly #options: CommitterOptions
  readonly #moved = new Set<PartitionLease>()
  #waiting: Wait[] = []
  #running = false
  #hurry = Promise.withResolvers<void>()
  #closed = false

  constructor(options: CommitterOptions) {
    this.#options = options
  }

  /** Schedules a commit. */
  note(lease: PartitionLease): void {
    this.#moved.add(lease)
    if (!this.#running) void this.#run()
  }

  /**
   * Resolves when the present positions of these leases are committed, with the number of leases that ended
   * before.
   */
  commit(leases: readonly PartitionLease[]): Promise<number> {
    const unconfirmed = leases.filter(({ progress, confirmed }) => progress.position !== confirmed)
    if (unconfirmed.length === 0) return Promise.resolve(0)
    const { promise, resolve } = Promise.withResolvers<number>()
    this.#waiting.push({ leases: new Set(unconfirmed), done: resolve, missed: 0 })
    for (const lease of unconfirmed) this.#moved.add(lease)
    this.#hurry.resolve()
    if (!this.#running) void this.#run()
    return promise
  }

  /** Ends every wait. */
  close(): void {
    this.#closed = true
    this.#hurry.resolve()
    for (const { leases, done, missed } of this.#waiting) done(missed + leases.size)
    this.#waiting = []
  }

  async #run(): Promise<void> {
    this.#running = true
    try {
      // Positions that move in the same tick join the first commit.
      await Promise.resolve()
      while (this.#moved.size > 0 && !this.#closed) {
        const round = [...this.#moved]
        this.#moved.clear()
        const waiting = [...this.#waiting]
        const isConfirmed = await this.#send(round, waiting)
        if (this.#closed) return
        if (!isConfirmed) await this.#rest(retryDelayMs)
        else if (this.#waiting.length === 0) await this.#rest(this.#options.restMs)
      }
    } finally {
      this.#running = false
    }
  }

  /** False when some positions have to be committed again. */
  async #send(round: readonly PartitionLease[], waiting: readonly Wait[]): Promise<boolean> {
    const gone = round.filter(lease => !isValid(lease))
    this.#conclude(gone, waiting, true)
    const valid = round.filter(isValid)
    let isConfirmed = true
    for (const [member, leases] of Map.groupBy(valid, lease => lease.member)) {
      const positions = leases.map(({ progress }) => progress.position)
      const offsets = leases.map(lease => this.#offsetOf(lease))
      const answer = await this.#options.send(offsets, member)
      if (answer.kind === 'confirmed') {
        leases.forEach((lease, index) => {
          lease.confirmed = positions[index]!
        })
        this.#conclude(leases, waiting, false)
        continue
      }
      if (answer.kind === 'refused') this.#options.onTrouble(answer.reason)
      if (answer.kind === 'fenced') this.#conclude(leases, waiting, true)
      else for (const lease of leases) this.#moved.add(lease)
      isConfirmed = false
    }
    return isConfirmed
  }

  #offsetOf({ partition, progress, metadata }: PartitionLease): OffsetToCommit {
    const offset = Number(progress.position)
    return { partition, offset, leaderEpoch: this.#options.leaderEpochAt(partition, offset), metadata }
  }

  #conclude(leases: readonly PartitionLease[], waiting: readonly Wait[], isMissed: boolean): void {
    for (const wait of waiting) {
      for (const lease of leases) {
        if (wait.leases.delete(lease) && isMissed) wait.missed++
      }
      if (wait.leases.size > 0) continue
      this.#waiting = this.#waiting.filter(one => one !== wait)
      wait.done(wait.missed)
    }
  }

  async #rest(delayMs: number): Promise<void> {
    this.#hurry = Promise.withResolvers()
    const early = new AbortController()
    await Promise.race([
      this.#hurry.promise,
      pause(delayMs, undefined, { signal: early.signal }).catch(() => {}),
    ])
    early.abort()
  }
}

function isValid({ progress, member }: PartitionLease): boolean {
  return progress.live && member.live
}
