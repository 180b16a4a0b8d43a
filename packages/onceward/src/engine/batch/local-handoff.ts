import type { WorkHolder } from '../../ports/held-work.ts'
import type { Decided } from './batch-attempt.ts'

/**
 * The worker beside a consumer that stores messages. Messages it has room for are leased to it as they are
 * written, and passed to it after the commit. This saves a round trip for the lease, and reading the bytes
 * again. If the process crashes in between, the lease expires like any other.
 */
export interface LocalHandoff {
  /** Called for each batch before it is stored; null leaves the messages to any worker. */
  holderOf(count: number, bytes: number): WorkHolder | null
  /** Called after the commit; messages with a lease are the worker's. */
  take(decided: readonly Decided[]): void
}
