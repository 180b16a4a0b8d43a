import type { Consumer } from './define-consumer.ts'

/**
 * The tables that a rebuild recreates: those of the declared effect, and those of `replay.tables`. Null if
 * they are unknown: own code writes tables too, and only `replay.tables` names those.
 */
export function rebuiltTables<M, Tx>({
  effect,
  replay,
}: Pick<Consumer<M, Tx>, 'effect' | 'replay'>): readonly string[] | null {
  const declared = effect?.apply
  const ownCode = declared === undefined || declared.tables === undefined || declared.after !== undefined
  if (ownCode && replay.tables.length === 0) return null
  return [...new Set([...(declared?.tables ?? []), ...replay.tables])]
}
