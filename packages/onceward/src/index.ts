export type {
  BatchContext,
  BatchItem,
  ConsumerContract,
  Effects,
  Envelope,
  ExternalRequest,
  ExternalTarget,
  FailureClass,
  HandlerContext,
  Mode,
  Risk,
  SourceDeclaration,
  SqlTransaction,
} from './contract/contract.ts'
export type { DeclaredEffect } from './contract/declared-effect.ts'
export { type Consumer, defineConsumer } from './contract/define-consumer.ts'
export type { SourceCapabilities, StoreCapabilities } from './contracts/capabilities.ts'
export type { Delivery, DeliveryProperties, Source, SourceEvent, Subscription } from './contracts/source.ts'
export type { Store, StoreSession, StoreTrouble } from './contracts/store.ts'
export type {
  Gap,
  GapAction,
  GapPolicy,
  ProjectedFact,
  ProjectedKey,
  ProjectionOptions,
  Repair,
} from './effects/projection/declaration.ts'
export { projection } from './effects/projection/projection.ts'
export { ConsumerProcess, type ConsumerState } from './engine/consumer.ts'
export type { Decision, Outcome } from './engine/outcome.ts'
export { ignore, park, quarantine, reject, retryAfter, stale, Verdict } from './engine/verdicts.ts'
export { type ErrorCode, OncewardError } from './errors.ts'
export { bytesCodec, type Codec, jsonCodec } from './message/codec.ts'
export type { Limits } from './message/limits.ts'
export { realSurroundings } from './runtime/real-surroundings.ts'
export { type Part, type Running, type RunOptions, runConsumer } from './runtime/run-consumer.ts'
export type { Clock, Log, Surroundings, Timers } from './surroundings.ts'
