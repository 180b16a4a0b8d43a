import type { CellResult } from './run-cell.ts'

/** The last line of `--json`. */
export interface Totals {
  readonly ok: boolean
  readonly messages: number
  /** How often each kind of fault happened. */
  readonly kills: Readonly<Record<string, number>>
  readonly lost: number
  readonly doubled: number
  readonly outOfOrder: number
  readonly unexplained: number
}

export function totalsOf(results: readonly CellResult[]): Totals {
  const sum = (count: (result: CellResult) => number) => results.reduce((all, one) => all + count(one), 0)
  const kills: Record<string, number> = {}
  for (const { happened } of results)
    for (const [kind, times] of Object.entries(happened)) kills[kind] = (kills[kind] ?? 0) + times
  return {
    ok: results.length > 0 && results.every(({ ok }) => ok),
    messages: sum(({ messages }) => messages),
    kills,
    lost: sum(({ verdict }) => verdict.lost.length),
    doubled: sum(({ verdict }) => verdict.doubled.length),
    outOfOrder: sum(({ verdict }) => verdict.outOfOrder.length),
    unexplained: sum(({ verdict }) => verdict.unexplained.length),
  }
}
