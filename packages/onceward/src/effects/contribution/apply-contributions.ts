import type { BatchItem, SqlTransaction } from '../../contract/contract.ts'
import { Verdict } from '../../engine/verdicts.ts'
import { rerunBatch } from '../declared/rerun.ts'
import { respond } from '../declared/respond.ts'
import { addFacts, assertCompared, compareFacts } from './add-facts.ts'
import { Balances, decimals } from './balances.ts'
import { correctFacts } from './correct-facts.ts'
import {
  type ContributionDeclaration,
  defaultResponses,
  type RefusalName,
  refusalCodes,
} from './declaration.ts'
import { lateFacts } from './late-facts.ts'
import type { Fact } from './read-fact.ts'
import type { Statements } from './statements.ts'

/** Adds a batch's facts and sums: one statement when all of them are new, in time and no corrections. */
export async function applyContributions<M>(
  tx: SqlTransaction,
  facts: readonly Fact<M>[],
  declared: ContributionDeclaration<M>,
  sql: Statements,
  withEvidence: boolean,
  verdicts: Map<BatchItem<M>, Verdict>,
): Promise<void> {
  const refuse = (fact: Fact<M>, refusal: RefusalName, reason: string) => {
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

/** Of each id the first; answers with those that are counted now. */
async function addInTime<M>(
  tx: SqlTransaction,
  plain: readonly Fact<M>[],
  late: ReadonlySet<Fact<M>>,
  sql: Statements,
  balances: Balances,
  withEvidence: boolean,
  refuse: (fact: Fact<M>, refusal: RefusalName, reason: string) => void,
): Promise<ReadonlySet<Fact<M>>> {
  const ids = new Set<string>()
  const firsts = plain.filter(fact => {
    if (late.has(fact) || ids.has(fact.eventId)) return false
    ids.add(fact.eventId)
    return true
  })
  const admitted = await admit(tx, firsts, sql, balances, refuse)
  const added = await addFacts(tx, admitted, sql, withEvidence)
  if (added !== 'all' && balances.guarded) await rerunBatch(tx, 'another transaction booked the same entry')
  return new Set(added === 'all' ? admitted : admitted.filter(fact => added.has(fact.eventId)))
}

/** Ledger with a floor: entries are booked in order on the locked balances; those that are there already book nothing. */
async function admit<M>(
  tx: SqlTransaction,
  firsts: readonly Fact<M>[],
  sql: Statements,
  balances: Balances,
  refuse: (fact: Fact<M>, refusal: RefusalName, reason: string) => void,
): Promise<readonly Fact<M>[]> {
  if (!balances.guarded) return firsts
  await balances.lock(
    tx,
    firsts.map(fact => fact.key),
  )
  const known = await compareFacts(tx, firsts, sql)
  return firsts.filter(fact => {
    if (known.has(fact)) return false
    if (balances.book([{ key: fact.key, values: decimals(fact.values) }])) return true
    refuse(fact, 'negative', `${fact.eventId} would leave the balance of ${fact.key} below zero`)
    return false
  })
}

function lateVerdict<M>(fact: Fact<M>, window: ContributionDeclaration<M>['window']): Verdict {
  const reason = `${fact.eventId} came after its window was closed for ${fact.key}`
  if (window !== 'none' && window.late === 'stale') return Verdict.stale(reason, 'late_fact')
  return Verdict.park(reason, 'late_fact')
}
