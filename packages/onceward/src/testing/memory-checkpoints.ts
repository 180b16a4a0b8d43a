import { OncewardError } from '../errors.ts'
import type {
  Checkpoints,
  LogOptions,
  Loss,
  OpenLoss,
  Ownership,
  Position,
  Progress,
} from '../ports/source.ts'

/**
 * Ownership and positions in this process's memory, for tests of a log source without a store. Pass it to
 * several subscriptions to make them rivals.
 */
export class MemoryCheckpoints implements Checkpoints {
  readonly #rows = new Map<string, { epoch: number; stored: Position | null; resumeAt: Position | null }>()
  /** By partition. */
  readonly #open = new Map<string, OpenLoss>()
  readonly losses: Loss[] = []
  readonly withdrawn: { readonly partition: string; readonly from: Position; readonly reason: string }[] = []

  take(partitions: readonly string[]): Promise<readonly Ownership[]> {
    return Promise.resolve(
      partitions.map(partition => {
        const row = this.#rows.get(partition) ?? { epoch: 0, stored: null, resumeAt: null }
        row.epoch++
        this.#rows.set(partition, row)
        const openLoss = this.#open.get(partition)
        return { partition, lastRun: null, ...row, ...(openLoss !== undefined && { openLoss }) }
      }),
    )
  }

  async begin(partition: string, epoch: number, position: Position): Promise<void> {
    this.advance([{ partition, epoch, from: null, ...position }])
    Object.assign(this.#rows.get(partition)!, { resumeAt: null })
    if (this.#open.get(partition)?.accepted) this.#open.delete(partition)
  }

  async withdrawLoss(partition: string, epoch: number, from: Position, reason: string): Promise<void> {
    this.advance([{ partition, epoch, incarnation: from.incarnation, from: null, next: null }])
    this.#open.delete(partition)
    Object.assign(this.#rows.get(partition)!, { resumeAt: null })
    this.withdrawn.push({ partition, from, reason })
  }

  /** As the engine's transaction does when it moves positions. */
  advance(progress: readonly Progress[]): void {
    const fail = (code: 'ownership_lost' | 'position_moved', { partition }: Progress): never => {
      throw new OncewardError(code, `${partition}: ${code}`, { details: { partitions: [partition] } })
    }
    for (const one of progress) {
      const row = this.#rows.get(one.partition)
      if (row?.epoch !== one.epoch) fail('ownership_lost', one)
      else if (one.from !== null && row.stored?.next !== one.from) fail('position_moved', one)
    }
    for (const { partition, incarnation, next } of progress)
      if (next !== null) this.#rows.get(partition)!.stored = { incarnation, next }
  }

  declareLoss(loss: Loss): Promise<void> {
    this.losses.push(loss)
    const { partition, from, to, reason } = loss
    const declaredMs = this.#open.get(partition)?.declaredMs ?? Date.now()
    this.#open.set(partition, { from, to, declaredMs, accepted: false, reason })
    return Promise.resolve()
  }

  /** As an operator who accepted a declared loss. */
  acceptLoss(partition: string): void {
    const row = this.#rows.get(partition)
    const loss = this.losses.findLast(one => one.partition === partition)
    if (row === undefined || loss === undefined) return
    row.resumeAt = loss.to
    const declaredMs = this.#open.get(partition)?.declaredMs ?? Date.now()
    const { from, to, reason } = loss
    this.#open.set(partition, { from, to, declaredMs, accepted: true, reason })
  }

  stored(partition: string): Position | null {
    return this.#rows.get(partition)?.stored ?? null
  }
}

/** What a log source needs to be opened outside an engine. */
export function logOptions(given: Partial<LogOptions> = {}): LogOptions {
  return {
    consumer: { name: 'tester', generation: 1 },
    progress: 'broker',
    checkpoints: new MemoryCheckpoints(),
    onRevoke: () => Promise.resolve(),
    ...given,
  }
}
