import type { Limits } from '../../message/limits.ts'
import type {
  BatchSection,
  ConsumerContract,
  EffectSection,
  IdentitySection,
  InboxSection,
  IsolationSection,
  MessageSection,
  SettleSection,
} from '../contract.ts'
import type { BreakerOptions, EmailTarget, ExternalTarget } from '../external-target.ts'
import type {
  ClassPolicy,
  DeadLetterSection,
  FailureBrake,
  FailureBreaker,
  FailureSection,
  ParkingSection,
  PoisonSection,
  RedeliverySection,
} from '../failure-section.ts'
import type { PublishTarget } from '../publish-target.ts'
import type {
  ComparedTable,
  EvidenceSection,
  ObjectivesSection,
  ReconcileSection,
  ReplaySection,
  RetentionSection,
} from '../upkeep-sections.ts'

/** The hand-written type of the options below each path; '' is the contract itself. */
export interface SectionTypes {
  '': ConsumerContract
  identity: IdentitySection<unknown>
  message: MessageSection<unknown>
  'message.limits': Partial<Limits>
  settle: SettleSection
  effect: EffectSection
  'effect.external.*': AnyOf<ExternalTarget>
  'effect.external.*.breaker': BreakerOptions
  'effect.external.*.credentials': NonNullable<EmailTarget['credentials']>
  'effect.publish.*': AnyOf<PublishTarget>
  failure: FailureSection
  'failure.policies.*': ClassPolicy
  'failure.poison': PoisonSection
  'failure.brake': FailureBrake
  'failure.breaker': FailureBreaker
  'failure.deadLetter': DeadLetterSection
  'failure.parking': ParkingSection
  'failure.redelivery': RedeliverySection
  batch: BatchSection
  inbox: InboxSection
  isolation: IsolationSection
  replay: ReplaySection
  'replay.compare.*': ComparedTable
  evidence: EvidenceSection
  retention: RetentionSection
  objectives: ObjectivesSection
  reconcile: ReconcileSection
}

export type SectionPath = keyof SectionTypes

/** The type of the option at a path; never if no section has it. */
export type ValueAt<P extends string, Sections = SectionTypes> = {
  [S in keyof Sections & string]: NameIn<S, P> extends infer K
    ? K extends keyof Sections[S]
      ? Exclude<Sections[S][K], undefined>
      : never
    : never
}[keyof Sections & string]

type NameIn<S extends string, P extends string> = S extends '' ? P : P extends `${S}.${infer K}` ? K : never

/** The path of an option, as the type of its section names it. */
export type OptionPath<Sections = SectionTypes> = {
  [S in keyof Sections & string]: PathIn<S, keyof Sections[S] & string>
}[keyof Sections & string]
export type PathIn<S extends string, K extends string> = S extends '' ? K : `${S}.${K}`

/** Every key that any member of a union has. */
type AnyOf<U> = { [K in U extends unknown ? keyof U : never]?: MemberValue<U, K> }
type MemberValue<U, K extends PropertyKey> = U extends unknown ? (K extends keyof U ? U[K] : never) : never
