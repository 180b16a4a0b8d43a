import type { Received } from '../../message/received.ts'

/**
 * The queue between reading and processing. Unordered messages are one list; ordered messages have one lane
 * per key or partition. A lane is idle (not in the map), queued (has messages, may be cut), busy (part of a
 * batch in progress) or waiting (its head is retried later). Only queued lanes are cut, so a lane is in at
 * most one batch. A message that returns goes to the head of its lane.
 */
export class Lanes {
  #unordered: Received[] = []
  /** Messages that were in a batch before and returned. */
  readonly #returned = new Set<Received>()
  #untried = 0
  readonly #lanes = new Map<string, Lane>()
  readonly #queued = new Set<Lane>()

  /** Messages that a batch could take now. */
  get ready(): number {
    let ready = this.#unordered.length
    for (const lane of this.#queued) ready += lane.messages.length
    return ready
  }

  /** All messages that are in no batch, including those behind busy and waiting lanes. */
  get size(): number {
    let size = this.#unordered.length
    for (const lane of this.#lanes.values()) size += lane.messages.length
    return size
  }

  /** Those of them that were never in a batch. */
  get untried(): number {
    return this.#untried
  }

  /** All messages that are in no batch. */
  *waiting(): Iterable<Received> {
    yield* this.#unordered
    for (const lane of this.#lanes.values()) yield* lane.messages
  }

  push(received: Received): void {
    this.#untried++
    this.#put(received)
  }

  /** For a message that was in a batch before. */
  pushBack(received: Received): void {
    this.#returned.add(received)
    this.#put(received)
  }

  #put(received: Received): void {
    if (received.lane === null) this.#unordered.push(received)
    else this.#queueBehind(received.lane, received)
  }

  /**
   * Takes a batch of lanes in the order of arrival, and marks the lanes busy. A lane is cut off before a
   * message that `stops` it.
   */
  cut(countMax: number, bytesMax: number, stops: (received: Received) => boolean = never): Received[] {
    const batch: Received[] = []
    let bytes = 0
    const fits = (received: Received) =>
      batch.length === 0 || (batch.length < countMax && bytes + received.delivery.body.length <= bytesMax)
    const take = (from: Received[]) => {
      let taken = 0
      while (taken < from.length && fits(from[taken]!) && !stops(from[taken]!)) {
        const received = from[taken++]!
        this.#leave(received)
        batch.push(received)
        bytes += received.delivery.body.length
      }
      // With order by key most lanes have one message: a list of what was removed would be one for each.
      if (taken === from.length) from.length = 0
      else if (taken > 0) from.splice(0, taken)
      return taken
    }
    take(this.#unordered)
    for (const lane of this.#queued) {
      if (batch.length >= countMax) break
      if (stops(lane.messages[0]!)) continue
      if (take(lane.messages) === 0) break
      lane.state = 'busy'
      this.#queued.delete(lane)
    }
    return batch
  }

  /**
   * Takes admitted messages that could be taken now, from a lane only its first ones in order, and marks
   * their lanes busy.
   */
  cutGroup(admits: (received: Received) => boolean): Received[] {
    const group: Received[] = []
    this.#unordered = this.#unordered.filter(received => !(admits(received) && group.push(received)))
    for (const lane of this.#queued) {
      let taken = 0
      while (taken < lane.messages.length && admits(lane.messages[taken]!)) taken++
      if (taken === 0) continue
      group.push(...lane.messages.splice(0, taken))
      lane.state = 'busy'
      this.#queued.delete(lane)
    }
    for (const received of group) this.#leave(received)
    return group
  }

  /** Whether `cutGroup` would find a message that matches. */
  some(matches: (received: Received) => boolean): boolean {
    if (this.#unordered.some(matches)) return true
    for (const lane of this.#queued) if (matches(lane.messages[0]!)) return true
    return false
  }

  /** Drops messages that are in no batch yet, as when their partition moves to another owner. */
  forget(goes: (received: Received) => boolean): void {
    const stays = (received: Received) => {
      if (!goes(received)) return true
      this.#leave(received)
      return false
    }
    this.#unordered = this.#unordered.filter(stays)
    for (const lane of this.#lanes.values()) {
      lane.messages = lane.messages.filter(stays)
      if (lane.messages.length > 0 || lane.state !== 'queued') continue
      this.#queued.delete(lane)
      this.#lanes.delete(lane.key)
    }
  }

  /** A batch has ended: its lanes may continue. Call it after `hold` of the messages that return. */
  release(batch: readonly Received[]): void {
    let last: string | null = null
    for (const { lane: key } of batch) {
      if (key === null || key === last) continue
      const lane = this.#lanes.get(key)
      if (lane?.state === 'busy') this.#resume(lane)
      last = key
    }
  }

  /**
   * Returns messages of one lane, in order, to its head and stops the lane until `resume`. False for
   * unordered messages.
   */
  hold(messages: readonly Received[]): boolean {
    const lane = this.#laneOf(messages[0]!)
    if (lane === undefined) return false
    for (const received of messages) this.#returned.add(received)
    lane.messages.unshift(...messages)
    lane.state = 'waiting'
    return true
  }

  resume(received: Received): void {
    const lane = this.#laneOf(received)
    if (lane !== undefined) this.#resume(lane)
  }

  #leave(received: Received): void {
    if (this.#returned.size === 0 || !this.#returned.delete(received)) this.#untried--
  }

  #resume(lane: Lane): void {
    if (lane.messages.length === 0) {
      this.#lanes.delete(lane.key)
      return
    }
    lane.state = 'queued'
    this.#queued.add(lane)
  }

  #queueBehind(key: string, received: Received): void {
    let lane = this.#lanes.get(key)
    if (lane === undefined) {
      lane = { key, state: 'queued', messages: [] }
      this.#lanes.set(key, lane)
      this.#queued.add(lane)
    }
    lane.messages.push(received)
  }

  #laneOf({ lane }: Received): Lane | undefined {
    return lane === null ? undefined : this.#lanes.get(lane)
  }
}

const never = () => false

interface Lane {
  readonly key: string
  state: 'queued' | 'busy' | 'waiting'
  messages: Received[]
}
