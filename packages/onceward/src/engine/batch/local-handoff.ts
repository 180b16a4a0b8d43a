import type { WorkHolder } from '../../ports/held-work.ts'
import type { Decided } from './batch-attempt.ts'

/**
 * The worker beside a storing consumer. What it has room for is claimed for it as it is written, and handed
 * to it after the commit: no round trip for the claim, and no reading of the bytes again. Should the process
 * die in between, the lease ends as any other.
 */
export interface LocalHandoff {
  /** Asked for each batch before it is stored; null when it shall lie where everybody finds it. */
  holderOf(count: number, bytes: number): WorkHolder | null
  /** Called after the commit; what carries a claim is the worker's. */
  take(decided: readonly Decided[]): void
}
