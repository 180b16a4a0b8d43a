import type { Consumer } from '../../contract/define-consumer.ts'
import type { Surroundings } from '../../surroundings.ts'
import { Turns } from '../batch/shared-lock.ts'
import { Breaker } from '../retry/breaker.ts'

/** What a consumer and the worker beside it in one process have together. */
export interface WorkerPair {
  readonly breaker: Breaker
  readonly turns: Turns
}

export function createPair<M, Tx>({ failure }: Consumer<M, Tx>, { clock }: Surroundings): WorkerPair {
  return { breaker: new Breaker(failure, clock), turns: new Turns() }
}
