import type { Report } from '../../contract/check-values.ts'
import type { After, DeclaredEffect } from '../../contract/declared-effect.ts'

/** The member `after` of the effect, if the declaration has one. */
export function afterOf<M, R>(declared: { readonly after?: After<M, R> }): Pick<DeclaredEffect<M>, 'after'> {
  return declared?.after === undefined ? {} : { after: declared.after }
}

export function afterProblems(after: unknown, wrong: Report): void {
  if (after !== undefined && typeof after !== 'function')
    wrong('after', 'must be a function of { message, result, tx, effects, envelope }')
}
