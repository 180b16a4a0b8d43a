import type { Consumer } from '../../contract/define-consumer.ts'
import type { Environment } from '../../environment.ts'
import { SharedLock } from '../batch/shared-lock.ts'
import { Brakes } from '../retry/brakes.ts'
import { Breaker } from '../retry/breaker.ts'
import { Redelivery } from '../retry/redelivery.ts'

/**
 * Shared by a consumer and its worker in one process: they call the same dependency and lock the same rows.
 */
export interface SharedLimits {
  readonly breaker: Breaker
  readonly brakes: Brakes
  readonly redelivery: Redelivery
  readonly writeLock: SharedLock
}

export function createSharedLimits<M, Tx>(
  { failure }: Consumer<M, Tx>,
  { clock }: Environment,
): SharedLimits {
  return {
    breaker: new Breaker(failure, clock),
    brakes: new Brakes(failure, clock),
    redelivery: new Redelivery(failure, clock),
    writeLock: new SharedLock(),
  }
}
