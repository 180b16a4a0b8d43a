import { isRecord } from '../check-values.ts'
import type { OptionKind } from './kind.ts'
import type { OptionPath, ValueAt } from './section-types.ts'

/**
 * One option of a contract. Checks, defaults, policy keys, the JSON Schema and the reference derive from it.
 */
export interface Option<P extends string = string, K extends OptionKind = OptionKind> extends OptionMore {
  /** Its path in the contract, with `*` for a user-chosen name. */
  readonly path: P
  readonly kind: K
  /** Its line in the reference; null for an option that a policy file cannot set. */
  readonly description: string | null
}

export interface OptionMore {
  /** The value used when the contract has none. A default that depends on other options is `computed(…)`. */
  readonly default?: unknown
  /** The default as the reference states it, if the value alone does not explain it; null: not mentioned. */
  readonly defaultText?: string | null
  /**
   * The problem reported when it is missing; true: the problem its kind reports for a wrong value. Without
   * this, the option may be omitted.
   */
  readonly missing?: true | string
  /** The key in a policy file, if it is not the path (without `Ms`); null: a policy file cannot set it. */
  readonly policyKey?: string | null
  /** The problem reported when a policy file sets it although it cannot. */
  readonly elsewhere?: string
  /** The variants of its section that have it. Default: all. */
  readonly onlyFor?: readonly string[]
  /**
   * A key of the policy file that is not an option: the contract path that receives its value, or true if
   * none does.
   */
  readonly fileOnly?: true | string
}

export function option<
  const P extends string,
  K extends OptionKind,
  const M extends OptionMore = Record<never, never>,
>(path: P, kind: K, description: string | null = null, more: M = {} as M): Option<P, K> & M {
  return { ...more, path, kind, description }
}

/** Reads an option of a contract: its own value, else the default. */
export type ReadOption = <P extends OptionPath>(path: P) => ValueAt<P>

/** A default that depends on other options. */
export interface ComputedDefault<T = unknown> {
  readonly compute: (get: ReadOption) => T
}

export function computed<const T>(compute: (get: ReadOption) => T): ComputedDefault<T> {
  return { compute }
}

/** Null if there is no default, or it is a plain value. */
export function computedDefault({ default: fallback }: Pick<OptionMore, 'default'>): ComputedDefault | null {
  const isComputed = isRecord(fallback) && typeof fallback.compute === 'function'
  return isComputed ? (fallback as unknown as ComputedDefault) : null
}
