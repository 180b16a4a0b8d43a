import type { Consumer } from '../../contract/define-consumer.ts'
import { OncewardError } from '../../errors.ts'
import type { Source } from '../../ports/source.ts'
import type { Store } from '../../ports/store.ts'

/** Refuses a contract that needs more than its source or store provides. Called before anything is opened. */
export function assertKeepable<M, Tx>(consumer: Consumer<M, Tx>, source: Source, store: Store<Tx>): void {
  const refuse = (wants: string, instead: string) => {
    throw new OncewardError(
      'configuration',
      `Consumer ${consumer.name} needs ${wants}, which ${source.name} does not provide as declared. Nothing was started. ${instead}`,
    )
  }
  if (consumer.effect?.apply !== undefined && store.query === undefined)
    throw new OncewardError(
      'configuration',
      `Consumer ${consumer.name} declares a ${consumer.effect.apply.kind}, which needs a SQL store. Nothing was started. Use the PostgreSQL store, or write a handler.`,
    )
  if (consumer.inbox.mode === 'stored' && store.work === undefined)
    throw new OncewardError(
      'configuration',
      `Consumer ${consumer.name} has inbox.mode 'stored', and this store cannot store work. Nothing was started. Use the PostgreSQL store, or remove inbox.mode.`,
    )
  if (consumer.failure.mode === 'defer' && store.work === undefined)
    throw new OncewardError(
      'configuration',
      `Consumer ${consumer.name} has failure.mode 'defer', and this store cannot store work. Nothing was started. Use the PostgreSQL store, or failure.mode 'block'.`,
    )
  const { order, positions } = source.capabilities
  if (consumer.order === 'key' && !order.key)
    refuse(
      "order 'key'",
      'On RabbitMQ declare the queue with singleActiveConsumer; on PostgreSQL with keyOrder.',
    )
  if (consumer.order === 'partition' && !order.partition)
    refuse("order 'partition'", "A queue has no partitions: use order 'key', or read from a log.")
  if (positions) return
  if (consumer.dedup === 'checkpoint')
    refuse("dedup 'checkpoint'", "A queue has no positions: use dedup 'marker'.")
  if (consumer.settle.when === 'with effect')
    refuse("settle.when 'with effect'", "A queue has no positions to write: use 'after effect'.")
  if (consumer.identity.id === 'position')
    refuse(
      "identity.id 'position'",
      'A queue has no lasting positions: name the field or header that identifies the message.',
    )
}
