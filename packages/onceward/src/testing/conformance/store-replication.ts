import { runConformance } from './conformance-case.ts'
import type { StoreFactory, StoreUnderTest } from './store.ts'
import { StoreBench } from './store-bench.ts'
import { type ReplicationBench, storeReplicationCases } from './store-replication-cases.ts'

/** The synchronous standby of the store's server, which a case stops and starts. */
export interface SynchronousStandby {
  /** From now on it confirms nothing. */
  stop(): Promise<void>
  /** Resolves when it is available and confirms again. */
  resume(): Promise<void>
  /**
   * Ends the current waits for it, by cancelling them or by ending their sessions. Resolves with their
   * number.
   */
  endWaits(how: 'cancel' | 'terminate'): Promise<number>
}

/** Runs the cases of a store on a server with a synchronous standby, with node:test. */
export function replicationConformance<Tx>(
  name: string,
  factory: Pick<StoreFactory<Tx>, 'create' | 'unavailable'>,
  standby: SynchronousStandby,
): void {
  runConformance<ReplicationBench, never>({
    name: `${name} confirms only what the synchronous standby has`,
    unavailable: factory.unavailable,
    cases: storeReplicationCases,
    open: async () => ({
      bench: await StoreBench.open((await factory.create()) as StoreUnderTest<unknown>),
      standby,
    }),
    async close({ bench }) {
      await standby.resume()
      await bench.under.close()
    },
    missing: () => null,
  })
}
