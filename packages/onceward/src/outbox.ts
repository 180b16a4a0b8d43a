export type { PublishRequest, PublishTarget } from './contract/publish-target.ts'
export { type OutboxMessage, publishInTransaction } from './effects/publish/publish-in-transaction.ts'
export { type RelayedBroker, type RunningRelay, type RunRelayOptions, runRelay } from './runtime/run-relay.ts'
