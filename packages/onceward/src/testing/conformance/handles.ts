import type { Store } from '../../ports/store.ts'
import { runConformance } from './conformance-case.ts'
import { HandleBench } from './handle-bench.ts'
import { handleFailureCases } from './handle-failure-cases.ts'
import { handleLateCases } from './handle-late-cases.ts'
import { handleStreamCases } from './handle-stream-cases.ts'

/** A store on a pool of one connection, with slow and failing statements. */
export interface HandlesUnderTest<Tx> {
  readonly store: Store<Tx>
  /** A business write whose repetition is visible: appends `key` to a list. */
  apply(tx: Tx, key: string): Promise<void>
  /** The list so far, committed writes only. */
  applied(): Promise<readonly string[]>
  /** Sends a statement that fails because of its content. */
  fail(tx: Tx): Promise<void>
  /** Sends a statement that takes this long. */
  pause(tx: Tx, ms: number): Promise<void>
  /** Many rows, read a few at a time; absent where the library reads all of them at once. */
  rows?(tx: Tx): AsyncIterator<unknown>
  /** The store's sessions as the server knows them; `open`: in a transaction. */
  sessions(): Promise<{ readonly total: number; readonly open: number }>
  close(): Promise<void>
}

/** What the suite of handler transactions needs of a store. */
export interface HandlesFactory<Tx> {
  create(): Promise<HandlesUnderTest<Tx>>
  /** Why none of it can run here, such as a missing server. */
  readonly unavailable?: string | undefined
}

/** Runs, with node:test, the cases of handlers that fail or are ended while their statements wait or run. */
export function handleConformance<Tx>(name: string, factory: HandlesFactory<Tx>): void {
  runConformance<HandleBench, 'row streams'>({
    name: `${name} lets no statement of a failed handler through`,
    unavailable: factory.unavailable,
    cases: [...handleFailureCases, ...handleLateCases, ...handleStreamCases],
    open: async () => new HandleBench((await factory.create()) as HandlesUnderTest<unknown>),
    close: bench => bench.close(),
    missing: (_feature, bench) =>
      bench.under.rows === undefined ? 'the library reads all rows at once' : null,
  })
}
