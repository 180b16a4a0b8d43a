import type { And, At, If, Is, IsNot, IsSet, IsUnset } from './impossible.ts'

/** Combinations that `target-problems.ts` refuses in an external target, as errors of the editor. */
export type TargetRules<Targets> = unknown extends Targets
  ? unknown
  : string extends keyof NonNullable<Targets>
    ? unknown
    : { readonly [Name in keyof Targets]: TargetRule<Targets[Name]> }

type TargetRule<T> = {
  readonly policy?: PolicyRule<T>
  readonly query?: If<
    And<IsSet<At<T, 'query'>>, IsNot<At<T, 'policy'>, 'query first'>>,
    "query is called only with policy 'query first': set that policy, or remove query"
  >
} & (NeedsPolicy<T> extends true
  ? { readonly policy: If<true, 'choose what may follow a call with an unknown outcome: a policy'> }
  : unknown)

type NeedsPolicy<T> = And<
  IsUnset<At<T, 'policy'>>,
  Is<At<T, 'kind'>, 'email' | 'custom'> extends true ? true : Is<At<T, 'keyHeader'>, null>
>

type PolicyRule<T> = If<
  And<Is<At<T, 'policy'>, 'query first'>, IsUnset<At<T, 'query'>>>,
  "policy 'query first' needs query: a function that asks the target whether the call took effect"
> &
  If<
    And<Is<At<T, 'policy'>, 'keyed'>, Is<At<T, 'kind'>, 'email'>>,
    "SMTP has no idempotency keys: choose 'at most once' or 'manual'"
  > &
  If<
    And<Is<At<T, 'policy'>, 'keyed'>, Is<At<T, 'keyHeader'>, null>>,
    "keyHeader is null, so policy cannot be 'keyed': choose 'query first', 'at most once' or 'manual'"
  >
