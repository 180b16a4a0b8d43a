import type { Consumer } from '../../contract/define-consumer.ts'
import type { Environment } from '../../environment.ts'
import { SharedLock } from '../batch/shared-lock.ts'
import { Breaker } from '../retry/breaker.ts'

/**
 * What a consumer and the worker beside it in one process share: they call the same dependency and lock the
 * same rows.
 */
export interface SharedLimits {
  readonly breaker: Breaker
  readonly writeLock: SharedLock
}

export function createSharedLimits<M, Tx>(
  { failure }: Consumer<M, Tx>,
  { clock }: Environment,
): SharedLimits {
  return { breaker: new Breaker(failure, clock), writeLock: new SharedLock() }
}
