import type { Consumer } from '../contract/define-consumer.ts'
import type { SqlTransaction } from '../contract/handler.ts'
import type { Store } from '../ports/store.ts'
import type * as replay from './replay.ts'
import type { Running, RunOptions } from './run-consumer.ts'
import type * as transform from './run-transform.ts'

// Each is a third of the library's modules, and most processes that import `onceward` need none or one.

/** Runs a consumer in this process, with its dispatcher, relay and retention, until it is drained. */
export function runConsumer<M>(consumer: Consumer<M, SqlTransaction>, options: RunOptions): Promise<Running>
/** In the transactions of your own store on the same database: handlers get its handle. */
export function runConsumer<M, Tx>(
  consumer: Consumer<M, Tx>,
  options: RunOptions & { readonly store: Store<Tx> },
): Promise<Running>
export async function runConsumer<M>(
  consumer: Consumer<M, SqlTransaction>,
  options: RunOptions & { readonly store?: Store<SqlTransaction> },
): Promise<Running> {
  return (await import('./run-consumer.ts')).runConsumer(consumer, options)
}

/** Runs a Kafka transform in this process until it is drained. */
export const runTransform: typeof transform.runTransform = async (declared, options) =>
  (await import('./run-transform.ts')).runTransform(declared, options)

/** Opens the campaigns of a consumer. */
export const openReplay: typeof replay.openReplay = async (declared, options) =>
  (await import('./replay.ts')).openReplay(declared, options)
