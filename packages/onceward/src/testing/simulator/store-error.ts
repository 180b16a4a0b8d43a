/** Errors as a PostgreSQL client raises them, so that the shipped diagnosis reads them. */
export class SimulatedStoreError extends Error {
  readonly code: string
  constructor(code: string, message: string) {
    super(message)
    this.code = code
    // Thousands a second, and their stacks are never read.
    this.stack = ''
  }
}

export const storeErrors = {
  cut: () => new SimulatedStoreError('ECONNRESET', 'connection cut'),
  refused: () => new SimulatedStoreError('ECONNREFUSED', 'the store is down'),
  contention: () => new SimulatedStoreError('40001', 'could not serialize access'),
  deadlock: () => new SimulatedStoreError('40P01', 'deadlock detected'),
  lockWait: () => new SimulatedStoreError('55P03', 'canceling statement due to lock timeout'),
  aborted: () => new SimulatedStoreError('25P02', 'current transaction is aborted'),
}
