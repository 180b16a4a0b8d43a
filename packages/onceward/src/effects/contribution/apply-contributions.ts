import type { BatchItem, SqlTransaction } from '../../contract/handler.ts'
import { Verdict } from '../../engine/batch/verdicts.ts'
import { rerunBatch } from '../declared/rerun.ts'
import { respond } from '../declared/respond.ts'
import { addFacts, assertCompared, compareFacts } from './add-facts.ts'
import { Balances, decimals } from './balances.ts'
import { correctFacts } from './correct-facts.ts'
import {
  type ContributionDeclaration,
  type ContributionRefusal,
  defaultResponses,
  lateCode,
  refusalCodes,
} from './declaration.ts'
import { lateFacts } from './late-facts.ts'
import type { Contribution } from './read-fact.ts'
import type { ContributionStatements } from './statements.ts'

/** Adds a batch's facts and sums. Takes one statement when all facts are new, on time and not corrections. */
export async function applyContributions<M>(
  tx: SqlTransaction,
  facts: readonly Contribution<M>[],
  declared: ContributionDeclaration<M>,
  sql: ContributionStatements,
  withEvidence: boolean,
  verdicts: Map<BatchItem<M>, Verdict>,
): Promise<void> {
  const refuse = (fact: Contribution<M>, refusal: ContributionRefusal, reason: string) => {
    const response = declared.on?.[refusal] ?? defaultResponses[refusal]
    const delayMs = declared.retryDelayMs ?? 2_000
    verdicts.set(fact.item, respond(response, reason, refusalCodes[refusal], delayMs))
  }
  const { window, notNegative = [] } = declared
  const corrections = facts.filter(fact => fact.corrects !== null)
  const plain = corrections.length === 0 ? facts : facts.filter(fact => fact.corrects === null)
  const late = window === 'none' || window.late === 'accept' ? none : await lateFacts(tx, plain, window, sql)
  const balances = new Balances(Object.keys(declared.values ?? {}), notNegative, sql)

  const added = await addInTime(tx, plain, late, sql, balances, withEvidence, refuse)
  const others = plain.filter(fact => !added.has(fact) && !verdicts.has(fact.item))
  const compared = await compareFacts(tx, others, sql)
  for (const fact of others) {
    if (late.has(fact) && !compared.has(fact)) verdicts.set(fact.item, lateVerdict(fact, window))
    else if (await assertCompared(tx, fact, compared))
      refuse(fact, 'duplicate', `${fact.eventId} is counted already`)
    else refuse(fact, 'conflict', `${fact.eventId} is counted already, with other content`)
  }
  if (corrections.length > 0) await correctFacts(tx, corrections, sql, balances, withEvidence, refuse)
}

const none: ReadonlySet<never> = new Set()

/** Adds the first fact of each id. Returns the facts that are now counted. */
async function addInTime<M>(
  tx: SqlTransaction,
  plain: readonly Contribution<M>[],
  late: ReadonlySet<Contribution<M>>,
  sql: ContributionStatements,
  balances: Balances,
  withEvidence: boolean,
  refuse: (fact: Contribution<M>, refusal: ContributionRefusal, reason: string) => void,
): Promise<ReadonlySet<Contribution<M>>> {
  const inTime = late.size === 0 ? plain : plain.filter(fact => !late.has(fact))
  const admitted = balances.guarded ? await admit(tx, inTime, sql, balances, refuse) : firstsOf(inTime)
  const added = await addFacts(tx, admitted, sql, withEvidence)
  if (added !== 'all' && balances.guarded) await rerunBatch(tx, 'another transaction booked the same entry')
  return new Set(added === 'all' ? admitted : admitted.filter(fact => added.has(fact.eventId)))
}

function firstsOf<M>(facts: readonly Contribution<M>[]): readonly Contribution<M>[] {
  const ids = new Set<string>()
  return facts.filter(({ eventId }) => !ids.has(eventId) && ids.add(eventId))
}

/**
 * For a ledger with `notNegative`: books entries in order on the locked balances. An entry that is already
 * stored, or was booked earlier in this batch, books nothing. A repeat of a refused entry is checked again.
 */
async function admit<M>(
  tx: SqlTransaction,
  entries: readonly Contribution<M>[],
  sql: ContributionStatements,
  balances: Balances,
  refuse: (fact: Contribution<M>, refusal: ContributionRefusal, reason: string) => void,
): Promise<readonly Contribution<M>[]> {
  await balances.lock(
    tx,
    entries.map(fact => fact.key),
  )
  const known = await compareFacts(tx, entries, sql)
  const booked = new Set<string>()
  return entries.filter(fact => {
    if (known.has(fact) || booked.has(fact.eventId)) return false
    if (balances.book([{ key: fact.key, values: decimals(fact.values) }])) return booked.add(fact.eventId)
    refuse(fact, 'negative', `${fact.eventId} would leave the balance of ${fact.key} below zero`)
    return false
  })
}

function lateVerdict<M>(fact: Contribution<M>, window: ContributionDeclaration<M>['window']): Verdict {
  const reason = `${fact.eventId} arrived after its window was closed for ${fact.key}`
  if (window !== 'none' && window.late === 'stale') return Verdict.stale(reason, lateCode)
  return Verdict.park(reason, lateCode)
}
