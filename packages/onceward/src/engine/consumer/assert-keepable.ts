import type { Consumer } from '../../contract/define-consumer.ts'
import { OncewardError } from '../../errors.ts'
import { byBroker } from '../../ports/retry-levels.ts'
import type { Source } from '../../ports/source.ts'
import type { Store } from '../../ports/store.ts'

/**
 * Refuses a contract that needs more than its source or store provides, with one `configuration` error about
 * the first missing part. Called before anything is opened.
 */
export function assertKeepable<M, Tx>(consumer: Consumer<M, Tx>, source: Source, store: Store<Tx>): void {
  const refuse = (need: string, instead: string) => {
    throw new OncewardError(
      'configuration',
      `Consumer ${consumer.name} needs ${need}, which ${source.name} does not provide as declared. Nothing was started. ${instead}`,
    )
  }
  const missing = missingGroup(consumer, source, store)
  if (missing !== null)
    throw new OncewardError(
      'configuration',
      `Consumer ${consumer.name} ${missing.need}. Nothing was started. ${missing.instead}`,
    )
  const { order, positions } = source.capabilities
  if (consumer.order === 'key' && !order.key)
    refuse(
      "order 'key'",
      'On RabbitMQ declare the queue with singleActiveConsumer; on PostgreSQL with keyOrder.',
    )
  if (consumer.order === 'partition' && !order.partition)
    refuse("order 'partition'", "A queue has no partitions: use order 'key', or read from a log.")
  if (positions && consumer.identity.id === 'content')
    refuse("identity.id 'content'", "A log has positions: use identity.id 'position'.")
  if (positions) return
  if (consumer.dedup === 'checkpoint')
    refuse("dedup 'checkpoint'", "A queue has no positions: use dedup 'marker'.")
  if (consumer.settle.when === 'with effect')
    refuse("settle.when 'with effect'", "A queue has no positions to write: use 'after effect'.")
  if (consumer.identity.id === 'position')
    refuse(
      "identity.id 'position'",
      "A queue has no lasting positions: name the field or header that identifies the message, or 'content'.",
    )
}

interface MissingGroup {
  readonly need: string
  readonly instead: string
}

/** The first group of the store port that the contract or its source needs and the store lacks. */
function missingGroup<M, Tx>(
  { effect, inbox, failure, order, identity, declared }: Consumer<M, Tx>,
  source: Source,
  { capabilities, sql, work, checkpoints }: Store<Tx>,
): MissingGroup | null {
  if (effect?.apply !== undefined && sql === undefined)
    return {
      need: `declares a ${effect.apply.kind}, which needs a SQL store`,
      instead: 'Use the PostgreSQL store, or write a handler.',
    }
  if (inbox.mode === 'stored' && work === undefined)
    return {
      need: "has inbox.mode 'stored', and this store cannot store work",
      instead: 'Use the PostgreSQL store, or remove inbox.mode.',
    }
  if (failure.mode === 'defer' && work === undefined)
    return {
      need: "has failure.mode 'defer', and this store cannot store work",
      instead: "Use the PostgreSQL store, or failure.mode 'block'.",
    }
  if (source.capabilities.positions && checkpoints === undefined)
    return {
      need: `reads a log, ${source.name}, and this store keeps no positions (checkpoints)`,
      instead: 'Use the PostgreSQL store, or read from a queue.',
    }
  if (order === 'key' && !capabilities.keyOrder)
    return {
      need: "has order 'key', and this store does not report blocked keys (keyOrder)",
      instead: "Use the PostgreSQL store, or order 'none'.",
    }
  if (identity.businessKey !== undefined && !capabilities.businessKeys)
    return {
      need: 'declares identity.businessKey, and this store keeps no business keys (businessKeys)',
      instead: 'Use the PostgreSQL store, or remove identity.businessKey.',
    }
  if (declared.evidence?.receipts === true && !capabilities.receipts)
    return {
      need: 'has evidence.receipts, and this store keeps no receipts (receipts)',
      instead: 'Use the PostgreSQL store, or remove evidence.receipts.',
    }
  if (writesOutgoing(effect, failure.mode) && !capabilities.outgoing)
    return {
      need: 'declares targets or retries at the broker, and this store has no outbox and no ledger (outgoing)',
      instead: 'Use the PostgreSQL store, or remove effect.external, effect.publish and that failure.mode.',
    }
  return null
}

function writesOutgoing<M>(effect: Consumer<M>['effect'], mode: string): boolean {
  return Object.keys({ ...effect?.external, ...effect?.publish }).length > 0 || byBroker(mode)
}
