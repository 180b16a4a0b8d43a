import type { Checkpoints, LogOptions, Loss, Ownership, Position } from '../contracts/source.ts'

/** Ownership and positions in this process's memory, for tests of a log source without a store. Hand it to several subscriptions to make them rivals. */
export class MemoryCheckpoints implements Checkpoints {
  readonly #rows = new Map<string, { epoch: number; stored: Position | null; resumeAt: Position | null }>()
  readonly losses: Loss[] = []

  take(partitions: readonly string[]): Promise<readonly Ownership[]> {
    return Promise.resolve(
      partitions.map(partition => {
        const row = this.#rows.get(partition) ?? { epoch: 0, stored: null, resumeAt: null }
        row.epoch++
        this.#rows.set(partition, row)
        return { partition, ...row }
      }),
    )
  }

  begin(partition: string, epoch: number, position: Position): Promise<void> {
    const row = this.#rows.get(partition)
    if (row?.epoch === epoch) Object.assign(row, { stored: position, resumeAt: null })
    return Promise.resolve()
  }

  declareLoss(loss: Loss): Promise<void> {
    this.losses.push(loss)
    return Promise.resolve()
  }

  /** As a person who looked at a declared loss and accepted it. */
  acceptLoss(partition: string): void {
    const row = this.#rows.get(partition)
    const loss = this.losses.findLast(one => one.partition === partition)
    if (row !== undefined && loss !== undefined) row.resumeAt = loss.to
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
