export type { ConsumerContract, Risk, SourceDeclaration } from './contract/contract.ts'
export type { After, AfterContext, DeclaredEffect, EffectContext } from './contract/declared-effect.ts'
export { type Consumer, defineConsumer } from './contract/define-consumer.ts'
export { defineTransform, type Transform } from './contract/define-transform.ts'
export type {
  CallOutcome,
  CustomTarget,
  EmailTarget,
  ExternalTarget,
  HttpTarget,
  QueryAnswer,
  RepeatPolicy,
  Secret,
  TargetContext,
  TargetRequest,
  WebhookTarget,
} from './contract/external-target.ts'
export type { ClassPolicy, FailureClass, FailureSection } from './contract/failure-section.ts'
export type {
  BatchContext,
  BatchItem,
  CampaignMode,
  Effects,
  Envelope,
  ExternalRequest,
  HandlerContext,
  InlineAnswer,
  Mode,
  SqlTransaction,
} from './contract/handler.ts'
export { loadPolicy } from './contract/policy/load-policy.ts'
export type { Policy } from './contract/policy/read-policy.ts'
export {
  type ConsumerParts,
  consumerParts,
  type TransformParts,
  withPolicy,
} from './contract/policy/with-policy.ts'
export type { PublishRequest, PublishTarget } from './contract/publish-target.ts'
export type { TransformContext, TransformContract, TransformFailure } from './contract/transform-contract.ts'
export type {
  ComparedTable,
  ReconcileSection,
  ReplaySection,
  RetentionSection,
} from './contract/upkeep-sections.ts'
export { type AuditDeclaration, type AuditResult, audit } from './effects/audit/audit.ts'
export { type Command, type CommandOptions, commandFrom } from './effects/command/command-from.ts'
export { type ContributionEffect, contribution, type Drift } from './effects/contribution/contribution.ts'
export type {
  ContributionDeclaration,
  ContributionResult,
  ContributionWindow,
} from './effects/contribution/declaration.ts'
export type { EffectResponse } from './effects/declared/respond.ts'
export { type NotificationIdentity, notification } from './effects/external/notification.ts'
export type { Mail } from './effects/external/smtp/mail.ts'
export {
  type VerifiedWebhook,
  verifyWebhook,
  type WebhookToVerify,
} from './effects/external/webhook/verify-webhook.ts'
export type {
  Gap,
  GapAction,
  GapPolicy,
  ProjectedFact,
  ProjectedKey,
  ProjectionOptions,
  ProjectionResult,
  Repair,
} from './effects/projection/declaration.ts'
export { projection } from './effects/projection/projection.ts'
export type {
  AggregateTable,
  TransitionDeclaration,
  TransitionResult,
} from './effects/transition/declaration.ts'
export type { DeclaredMove, StateMachine } from './effects/transition/state-machine.ts'
export { transition } from './effects/transition/transition.ts'
export type { Decision, Outcome } from './engine/batch/outcome.ts'
export { ignore, park, quarantine, reject, retryAfter, stale, Verdict } from './engine/batch/verdicts.ts'
export { ConsumerProcess, type ConsumerState } from './engine/consumer/consumer.ts'
export type { Clock, Environment, Log, Timers } from './environment.ts'
export { type ErrorCode, OncewardError } from './errors.ts'
export { type Cause, cause } from './evidence/cause.ts'
export { bytesCodec, type Codec, jsonBigintCodec, jsonCodec, jsonRoundedCodec } from './message/codec.ts'
export type { Limits } from './message/limits.ts'
export { stableId } from './message/stable-id.ts'
export type { SourceCapabilities, StoreCapabilities } from './ports/capabilities.ts'
export type { OutgoingMessage, PublishAnswer, Publisher } from './ports/publisher.ts'
export type { RangeReader } from './ports/range-reader.ts'
export type { Delivery, DeliveryProperties, Source, SourceEvent, Subscription } from './ports/source.ts'
export type { Store, StoreTrouble } from './ports/store.ts'
export type { StoreSession } from './ports/store-session.ts'
export { synchronousHandle } from './ports/synchronous-handle.ts'
export type { Campaign, CampaignPlan, CampaignState } from './replay/campaign/campaign.ts'
export type { CampaignProgress } from './replay/campaign/campaign-progress.ts'
export type { CampaignRequest } from './replay/campaign/create-campaign.ts'
export type { CampaignPreview } from './replay/campaign/preview-campaign.ts'
export type { ParkedSelection, Selection } from './replay/campaign/selection.ts'
export type { Accepted, TableComparison } from './replay/rebuild/compare-tables.ts'
export type { Swap } from './replay/rebuild/swap-tables.ts'
export { openReplay, runConsumer, runTransform } from './runtime/on-use.ts'
export { realEnvironment } from './runtime/real-environment.ts'
export type { Replay, ReplayOptions } from './runtime/replay.ts'
export type { Part, Running, RunOptions } from './runtime/run-consumer.ts'
export type { Health } from './runtime/run-health.ts'
export type { RunningTransform, RunTransformOptions } from './runtime/run-transform.ts'
