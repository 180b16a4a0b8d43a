import type { SqlTransaction } from '../../contract/handler.ts'
import { decimalOf, negated } from '../declared/decimal.ts'
import { rerunBatch } from '../declared/rerun.ts'
import { arraysOf } from './add-facts.ts'
import { type Balances, decimals } from './balances.ts'
import type { ContributionRefusal } from './declaration.ts'
import type { Contribution } from './read-fact.ts'
import type { ContributionStatements } from './statements.ts'

type Refuse<M> = (fact: Contribution<M>, refusal: ContributionRefusal, reason: string) => void

interface Known {
  readonly n: number
  readonly found: boolean
  readonly target_key: string
  readonly target_values: readonly string[]
  /** The event that already corrected the target. */
  readonly taken_by: string | null
  /** The fact that this correction reversed, if it was applied before. */
  readonly reversed: string | null
  readonly placed: boolean
  readonly same: boolean | null
}

/**
 * Applies corrections, after the plain facts of their batch. A correction of a correction needs the other one
 * first, so they are applied in waves of two statements each. A batch nearly always is one wave.
 */
export async function correctFacts<M>(
  tx: SqlTransaction,
  corrections: readonly Contribution<M>[],
  sql: ContributionStatements,
  balances: Balances,
  withEvidence: boolean,
  refuse: Refuse<M>,
): Promise<void> {
  let left = corrections
  while (left.length > 0) {
    const wave = nextWave(left)
    await correctWave(tx, wave, sql, balances, withEvidence, refuse)
    const done = new Set(wave)
    left = left.filter(fact => !done.has(fact))
  }
}

/** The first correction of each id and of each target, except those whose target is still pending. */
function nextWave<M>(left: readonly Contribution<M>[]): readonly Contribution<M>[] {
  const pending = new Set(left.map(fact => fact.eventId))
  const [ids, targets] = [new Set<string>(), new Set<string>()]
  const wave = left.filter(({ eventId, corrects }) => {
    if (pending.has(corrects!) || ids.has(eventId) || targets.has(corrects!)) return false
    ids.add(eventId)
    targets.add(corrects!)
    return true
  })
  return wave.length > 0 ? wave : left.slice(0, 1)
}

async function correctWave<M>(
  tx: SqlTransaction,
  wave: readonly Contribution<M>[],
  sql: ContributionStatements,
  balances: Balances,
  withEvidence: boolean,
  refuse: Refuse<M>,
): Promise<void> {
  const extra = (facts: readonly Contribution<M>[]) => [
    facts.map(fact => fact.corrects),
    facts.map(fact => fact.withdraws),
  ]
  const { rows } = await tx.query<Known>(sql.readCorrections, [...arraysOf(wave, false), ...extra(wave)])
  const known = new Map(rows.map(row => [wave[row.n - 1]!, row]))
  const due = wave.filter(fact => {
    const refusal = refusalOf(fact, known.get(fact)!)
    if (refusal !== null) refuse(fact, ...refusal)
    return refusal === null
  })
  await balances.lock(
    tx,
    due.flatMap(fact => [fact.key, known.get(fact)!.target_key]),
  )
  const booked = due.filter(fact => {
    const { target_key, target_values } = known.get(fact)!
    const taken = { key: target_key, values: target_values.map(value => negated(decimalOf(value)!)) }
    const given = fact.withdraws ? [] : [{ key: fact.key, values: decimals(fact.values) }]
    if (balances.book([taken, ...given])) return true
    refuse(fact, 'negative', `correcting ${fact.corrects} would leave a balance below zero`)
    return false
  })
  if (booked.length === 0) return
  const written = await tx.query<{ count: number }>(sql.correct, [
    ...arraysOf(booked, withEvidence),
    ...extra(booked),
  ])
  const expected = booked.reduce((rows, fact) => rows + (fact.withdraws ? 1 : 2), 0)
  if (written.rows[0]!.count !== expected) await rerunBatch(tx, 'another transaction corrected the same fact')
}

function refusalOf<M>(fact: Contribution<M>, known: Known): [ContributionRefusal, string] | null {
  const { corrects, withdraws } = fact
  if (known.reversed !== null) {
    const same =
      known.reversed === corrects && known.placed !== withdraws && (withdraws || known.same === true)
    if (same) return ['duplicate', `${corrects} was corrected by this event already`]
    return ['conflict', 'the same event id made another correction']
  }
  if (known.placed) return ['conflict', 'the same event id made a plain contribution']
  if (!known.found) return ['uncorrectable', `there is no contribution of ${corrects} to correct yet`]
  if (known.taken_by !== null)
    return ['alreadyCorrected', `${corrects} was corrected by ${known.taken_by} already; correct that one`]
  return null
}
