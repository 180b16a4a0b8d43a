import type { And, At, If, Impossible, Is, IsNot, IsSet, IsUnset } from './impossible.ts'
import type { TargetRules } from './target-rules.ts'

/**
 * Combinations of options that `defineConsumer` refuses, as errors of the editor. Intersected with the type
 * of a contract: an option that cannot have its value gets the reason as its type. Only what is certain is an
 * error, so a contract made at run time has none here. `contract-problems.ts` has the same rules for values.
 */
export type ContractRules<C> = HandlerRule<C> & {
  readonly handleBatch?: If<
    And<IsSet<At<C, 'handleBatch'>>, IsSet<At<C, 'handle'>>>,
    'a contract has one of handle, handleBatch and effect.apply: remove handle or handleBatch'
  >
  readonly order?: OrderRule<C>
  readonly dedup?: DedupRule<C>
  readonly settle?: SettleRule<C>
  readonly failure?: FailureRule<C>
  readonly inbox?: InboxRule<C>
  readonly identity?: IdentityRule<C>
  readonly message?: If<
    And<IsSet<At<At<C, 'message'>, 'versions'>>, IsUnset<At<At<C, 'identity'>, 'schemaVersion'>>>,
    'message.versions needs identity.schemaVersion, which names where the version is read'
  >
  readonly isolation?: IsolationRule<C>
  readonly evidence?: If<
    And<Is<At<At<C, 'evidence'>, 'keep'>, 'payload'>, Is<At<At<C, 'evidence'>, 'receipts'>, false>>,
    "evidence.keep 'payload' needs receipts: remove receipts: false"
  >
  readonly reconcile?: If<
    And<IsSet<At<C, 'reconcile'>>, Is<At<C, 'dedup'>, 'checkpoint' | 'version'>>,
    "reconcile compares effects with markers, and only dedup 'marker' keeps them"
  >
  readonly effect?: EffectRule<C>
}

type Order<C> = At<C, 'order'>
type Dedup<C> = At<C, 'dedup'>
type When<C> = At<At<C, 'settle'>, 'when'>
type Grave = 'money' | 'regulatory'

type HandlerRule<C> =
  And<
    And<IsUnset<At<C, 'handle'>>, IsUnset<At<C, 'handleBatch'>>>,
    IsUnset<At<At<C, 'effect'>, 'apply'>>
  > extends true
    ? { readonly handle: Impossible<'a contract needs handle, handleBatch or effect.apply'> }
    : unknown

type EffectRule<C> = {
  readonly apply?: If<
    And<IsSet<At<At<C, 'effect'>, 'apply'>>, Either<IsSet<At<C, 'handle'>>, IsSet<At<C, 'handleBatch'>>>>,
    'a declared effect replaces the handler: remove effect.apply, or handle and handleBatch'
  >
  readonly external?: TargetRules<At<At<C, 'effect'>, 'external'>>
}

type Either<A extends boolean, B extends boolean> = A extends true ? true : B

type OrderRule<C> = If<
  And<Is<Order<C>, 'key'>, IsUnset<At<At<C, 'identity'>, 'orderKey'>>>,
  "order 'key' needs identity.orderKey"
> &
  If<
    And<Is<Order<C>, 'partition'>, Is<At<At<C, 'inbox'>, 'mode'>, 'stored'>>,
    "workers order by key only: use order 'key' with inbox.mode 'stored'"
  >

type DedupRule<C> = If<
  And<Is<Dedup<C>, 'checkpoint'>, IsNot<Order<C>, 'partition'>>,
  "dedup 'checkpoint' needs order 'partition': only one batch per partition may be in progress"
> &
  If<
    And<Is<Dedup<C>, 'version'>, IsUnset<At<At<C, 'effect'>, 'apply'>>>,
    "dedup 'version' needs an effect whose rows have a version: effect.apply: projection({ … })"
  > &
  If<
    And<Is<Dedup<C>, 'checkpoint' | 'version'>, Is<At<At<C, 'inbox'>, 'mode'>, 'stored'>>,
    "inbox.mode 'stored' needs dedup 'marker'"
  >

type SettleRule<C> = {
  readonly when?: If<
    And<Is<When<C>, 'before effect'>, Is<At<C, 'risk'>, Grave>>,
    "'before effect' loses messages, which risk 'money' and 'regulatory' forbid"
  > &
    If<
      And<Is<When<C>, 'before effect'>, IsUnset<At<At<C, 'settle'>, 'lossAcceptable'>>>,
      "'before effect' loses messages in flight: say in settle.lossAcceptable why that is acceptable"
    > &
    If<
      And<Is<When<C>, 'before effect'>, Is<At<At<C, 'inbox'>, 'mode'>, 'stored'>>,
      "'before effect' loses messages that inbox.mode 'stored' would keep: remove one of the two"
    > &
    If<
      And<Is<Dedup<C>, 'checkpoint'>, Is<When<C>, 'after effect' | 'before effect'>>,
      "dedup 'checkpoint' records only the position: use 'with effect', or remove settle.when"
    > &
    If<
      And<Is<Dedup<C>, 'version'>, Is<When<C>, 'before effect'>>,
      "'before effect' never redelivers, so dedup 'version' has no effect: remove one of them"
    >
  readonly lossAcceptable?: If<
    And<IsSet<At<At<C, 'settle'>, 'lossAcceptable'>>, IsNot<When<C>, 'before effect'>>,
    "lossAcceptable has no effect without settle.when 'before effect'"
  >
}

type Failing<C> = At<C, 'failure'>

type FailureRule<C> = {
  readonly mode?: If<
    And<Is<At<Failing<C>, 'mode'>, 'defer'>, Is<Order<C>, 'partition'>>,
    "'defer' lets later messages pass, which order 'partition' forbids: use order 'key', or mode 'block'"
  > &
    If<
      And<Is<At<Failing<C>, 'mode'>, 'defer'>, Is<Dedup<C>, 'checkpoint' | 'version'>>,
      "'defer' needs dedup 'marker': only a marker distinguishes a deferred message from an applied one"
    > &
    If<
      And<Is<At<Failing<C>, 'mode'>, 'defer'>, Is<When<C>, 'before effect'>>,
      "'defer' keeps messages that settle.when 'before effect' gives up: remove one of the two"
    > &
    If<
      And<Is<At<Failing<C>, 'mode'>, 'retry queue' | 'retry topic'>, Is<Order<C>, 'key' | 'partition'>>,
      "a copy returns behind later messages: use order 'none', or mode 'defer'"
    >
  readonly exhausted?: If<
    And<Is<At<Failing<C>, 'exhausted'>, 'stop'>, IsNot<Order<C>, 'key' | 'partition'>>,
    "'stop' blocks a lane, and order 'none' has no lanes: use order 'key' or 'partition'"
  > &
    If<
      And<Is<At<Failing<C>, 'exhausted'>, 'stop'>, Is<When<C>, 'before effect'>>,
      "'stop' retries a message the source has already removed: use 'parked'"
    >
  readonly attemptsMax?: If<
    And<
      Is<When<C>, 'before effect'>,
      And<IsSet<At<Failing<C>, 'attemptsMax'>>, IsNot<At<Failing<C>, 'attemptsMax'>, 1>>
    >,
    "attemptsMax must be 1 with settle.when 'before effect': no message is redelivered"
  >
}

type InboxRule<C> = {
  readonly mode?: If<
    And<Is<At<At<C, 'inbox'>, 'mode'>, 'stored'>, Is<Order<C>, 'partition'>>,
    "workers order by key only: use order 'key' with inbox.mode 'stored'"
  >
}

type Identity<C> = At<C, 'identity'>

type IdentityRule<C> = {
  readonly businessKey?: If<
    And<IsSet<At<Identity<C>, 'businessKey'>>, Is<Dedup<C>, 'checkpoint' | 'version'>>,
    "a business key needs dedup 'marker': a position or a version records no keys"
  >
  readonly businessDigest?: If<
    And<IsSet<At<Identity<C>, 'businessDigest'>>, IsUnset<At<Identity<C>, 'businessKey'>>>,
    'businessDigest has no effect without identity.businessKey'
  >
  readonly id?: If<
    And<Is<At<Identity<C>, 'id'>, 'content'>, Is<Dedup<C>, 'checkpoint' | 'version'>>,
    "'content' needs dedup 'marker'"
  >
  readonly idTime?: If<
    And<IsSet<At<Identity<C>, 'idTime'>>, Is<At<Identity<C>, 'id'>, 'content'>>,
    "idTime has no effect with identity.id 'content', which contains no time"
  >
}

type Isolated<C> = At<C, 'isolation'>

type IsolationRule<C> = {
  readonly deadlineMs?: If<
    And<IsSet<At<Isolated<C>, 'deadlineMs'>>, IsNot<At<Isolated<C>, 'mode'>, 'child'>>,
    "deadlineMs has no effect without isolation.mode 'child'"
  >
  readonly memoryMaxMb?: If<
    And<IsSet<At<Isolated<C>, 'memoryMaxMb'>>, IsNot<At<Isolated<C>, 'mode'>, 'child'>>,
    "memoryMaxMb has no effect without isolation.mode 'child'"
  >
}
