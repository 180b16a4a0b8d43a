import type { OpenOptions } from '../../ports/source.ts'
import type { PartitionProgress } from './partition-progress.ts'

type Limits = Pick<OpenOptions, 'inFlightMax' | 'inFlightBytesMax'>

export interface Sharer {
  readonly progress: PartitionProgress
  /** No record of it waits to be delivered. */
  readonly idle: boolean
}

/**
 * Shares the room for unsettled records. Half of it is guaranteed, in equal shares to all partitions. A share
 * counts as taken even while it is empty, so each partition keeps its share however many others are stuck.
 * (When a partition could hold everything that was free, none was left after ten stuck ones.) A third of the
 * room is reserved for shares, so an idle partition keeps only a third of its own: the rest is available when
 * it becomes active. (With whole shares kept for 60 idle partitions of 64, the four with a backlog got
 * batches of 200 instead of 500.)
 *
 * A record that finds no room queues. Until it is delivered, the other partitions keep to their shares, or
 * stop when it needs more than half. So a large record waits for settling, not for a quiet moment.
 */
export class FairRoom {
  readonly #limits: Limits
  /** Two thirds of it. */
  readonly #usual: Limits
  #inLine: { readonly progress: PartitionProgress; readonly bytes: number } | null = null
  #count = roomOf(0)
  #bytes = roomOf(0)

  constructor(limits: Limits) {
    this.#limits = limits
    this.#usual = {
      inFlightMax: Math.max(1, Math.floor((limits.inFlightMax * 2) / 3)),
      inFlightBytesMax: Math.floor((limits.inFlightBytesMax * 2) / 3),
    }
  }

  /** Counts again; `fits` and `took` refer to these partitions until the next call. */
  measure(partitions: readonly Sharer[]): void {
    const { inFlightMax, inFlightBytesMax } = this.#limits
    const shares = 2 * partitions.length
    const least = partitions.length <= inFlightMax ? 1 : 0
    this.#count = roomOf(Math.max(least, Math.floor(inFlightMax / shares)))
    this.#bytes = roomOf(Math.floor(inFlightBytesMax / shares))
    for (const { progress, idle } of partitions) {
      count(this.#count, progress.unsettled, idle)
      count(this.#bytes, progress.unsettledBytes, idle)
    }
  }

  fits(progress: PartitionProgress, bytes: number): boolean {
    if (this.#count.used === 0) return true
    const within =
      this.#isWithin(this.#usual, bytes) ||
      (this.#isWithin(this.#limits, bytes) && (this.#isOwn(progress, bytes) || this.#waits(progress)))
    const fits = within && this.#isFair(progress, bytes)
    if (!fits && progress.unsettled === 0) this.#inLine ??= { progress, bytes }
    return fits
  }

  /** The record is delivered; call before the partition counts it. */
  took(progress: PartitionProgress, bytes: number): void {
    grow(this.#count, progress.unsettled, 1)
    grow(this.#bytes, progress.unsettledBytes, bytes)
    this.leave(progress)
  }

  /** No further record of this partition will be delivered. */
  leave(progress: PartitionProgress): void {
    if (this.#inLine?.progress === progress) this.#inLine = null
  }

  #isWithin({ inFlightMax, inFlightBytesMax }: Limits, bytes: number): boolean {
    return this.#count.used < inFlightMax && this.#bytes.used + bytes <= inFlightBytesMax
  }

  #isOwn(progress: PartitionProgress, bytes: number): boolean {
    const more = beyondShare(this.#count, progress.unsettled, 1)
    return more === 0 && beyondShare(this.#bytes, progress.unsettledBytes, bytes) === 0
  }

  #waits(progress: PartitionProgress): boolean {
    return this.#inLine?.progress === progress
  }

  #isFair(progress: PartitionProgress, bytes: number): boolean {
    const { inFlightMax, inFlightBytesMax } = this.#usual
    const more = beyondShare(this.#count, progress.unsettled, 1)
    const moreBytes = beyondShare(this.#bytes, progress.unsettledBytes, bytes)
    const needsMost = this.#inLine !== null && this.#inLine.bytes > inFlightBytesMax / 2
    if (this.#inLine !== null && this.#inLine.progress !== progress)
      return !needsMost && more === 0 && moreBytes === 0
    return (
      needsMost ||
      ((more === 0 || this.#count.taken + more <= inFlightMax) &&
        (moreBytes === 0 || this.#bytes.taken + moreBytes <= inFlightBytesMax))
    )
  }
}

interface Room {
  /** Held at present. */
  used: number
  /** The same, with the empty part of every share. */
  taken: number
  readonly share: number
}

const roomOf = (share: number): Room => ({ used: 0, taken: 0, share })

function count(room: Room, held: number, idle: boolean): void {
  room.taken += Math.max(held, idle ? Math.ceil(room.share / 3) : room.share)
  room.used += held
}

function beyondShare({ share }: Room, held: number, more: number): number {
  return Math.max(held + more, share) - Math.max(held, share)
}

function grow(room: Room, held: number, more: number): void {
  room.taken += beyondShare(room, held, more)
  room.used += more
}
