import { isRecord } from '../check-values.ts'
import type { OptionKind } from './kind.ts'
import type { OptionPath, ValueAt } from './section-types.ts'

/** One option of a contract: what everything that is said of it is made from. */
export interface Option<P extends string = string, K extends OptionKind = OptionKind> extends OptionMore {
  /** Where it stands in the contract, with `*` for a name people choose. */
  readonly path: P
  readonly kind: K
  /** The line of the reference; null for what a policy file cannot say. */
  readonly description: string | null
}

export interface OptionMore {
  /** Used where the contract says nothing. One that depends on other options is given as `computed(…)`. */
  readonly default?: unknown
  /** The default as the reference names it, where its value alone would not do; null: not mentioned. */
  readonly defaultText?: string | null
  /**
   * What is said when it is missing; true: what its kind says of a wrong value. Without it the option may be
   * left out.
   */
  readonly missing?: true | string
  /** The key of a policy file, where it is not the path (without `Ms`); null: a file cannot say it. */
  readonly policyKey?: string | null
  /** Said to those who write it into a policy file nevertheless. */
  readonly elsewhere?: string
  /** The variants of its section that have it. Default all. */
  readonly onlyFor?: readonly string[]
  /**
   * A key of the policy file that is no option: where the contract is told what it says, or true where it is
   * told nothing.
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

/** Null where there is none, or it is a value. */
export function computedDefault({ default: fallback }: Pick<OptionMore, 'default'>): ComputedDefault | null {
  const isComputed = isRecord(fallback) && typeof fallback.compute === 'function'
  return isComputed ? (fallback as unknown as ComputedDefault) : null
}
