import type { BatchContext, BatchItem, SqlTransaction } from '../../contract/contract.ts'
import type { DeclaredEffect } from '../../contract/declared-effect.ts'
import type { Verdict } from '../../engine/verdicts.ts'
import { invariant } from '../../errors.ts'
import { readAll } from '../declared/fields.ts'
import { applyTransitions } from './apply-transitions.ts'
import type { TransitionDeclaration } from './declaration.ts'
import { drawMachine } from './draw-machine.ts'
import { requestReader } from './read-request.ts'
import { movesOf } from './state-machine.ts'
import { type Statements, statementsFor } from './statements.ts'
import { transitionProblems } from './transition-problems.ts'
import { verifyTransitionTables } from './verify-tables.ts'

/**
 * Moves aggregates from state to state: one transition per transition id, only from the state it starts in, with the aggregate locked.
 * Each transition that happened is a row of the facts table; each that did not is told apart and answered as declared.
 */
export function transition<M>(declared: TransitionDeclaration<M>): DeclaredEffect<M> {
  let sql: Statements | null = null
  let prepared: ReturnType<typeof prepare<M>> | null = null
  const { machine } = declared ?? {}
  return {
    kind: 'transition',
    problems() {
      const problems: { place: string; text: string }[] = []
      transitionProblems(declared, (place, text) => void problems.push({ place, text }))
      return problems
    },
    async verify(query) {
      sql = statementsFor(declared, await verifyTransitionTables(declared, query))
    },
    async apply({ batch, tx }: BatchContext<M, SqlTransaction>) {
      invariant(sql !== null, 'a transition is verified before it is applied')
      prepared ??= prepare(declared)
      const verdicts = new Map<BatchItem<M>, Verdict>()
      const requests = readAll(batch, prepared.read, verdicts)
      if (requests.length > 0) await applyTransitions(tx, requests, declared, prepared.moves, sql, verdicts)
      return verdicts
    },
    ...(machine && { mermaid: () => drawMachine(machine) }),
  }
}

function prepare<M>(declared: TransitionDeclaration<M>) {
  const moves = declared.machine === undefined ? null : movesOf(declared.machine)
  return { moves, read: requestReader(declared, moves) }
}
