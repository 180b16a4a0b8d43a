import type { DeclaredEffect, EffectContext, EffectTrace } from '../../contract/declared-effect.ts'
import type { BatchItem } from '../../contract/handler.ts'
import type { Verdict } from '../../engine/batch/verdicts.ts'
import { invariant } from '../../errors.ts'
import { afterOf } from '../declared/after.ts'
import { readAll, unreadableCode } from '../declared/fields.ts'
import type { TableShape } from '../declared/tables.ts'
import type { AppliedTransition } from './aggregate-states.ts'
import { applyTransitions } from './apply-transitions.ts'
import { refusalCodes, type TransitionDeclaration, type TransitionResult } from './declaration.ts'
import { drawMachine } from './draw-machine.ts'
import { requestReader } from './read-request.ts'
import { movesOf } from './state-machine.ts'
import { statementsFor } from './statements.ts'
import { transitionProblems } from './transition-problems.ts'
import { verifyTransitionTables } from './verify-tables.ts'

/**
 * Moves aggregates between states: one transition per transition id, only from its start state, with the
 * aggregate locked. Each transition that happened is a row of the facts table. Each that did not is
 * classified and handled as declared.
 */
export function transition<M>(given: TransitionDeclaration<M>): DeclaredEffect<M> {
  const declared = withCause(given)
  let prepared: ReturnType<typeof prepare<M>> | null = null
  const { machine } = declared ?? {}
  return {
    kind: 'transition',
    codes: [...Object.values(refusalCodes), unreadableCode],
    problems() {
      const problems: { place: string; text: string }[] = []
      transitionProblems(declared, (place, text) => void problems.push({ place, text }))
      return problems
    },
    traces: () => tracesOf(declared),
    async verify(query) {
      prepared = prepare(declared, await verifyTransitionTables(declared, query))
    },
    async apply({ batch, tx, report }: EffectContext<M>) {
      invariant(prepared !== null, 'a transition is verified before it is applied')
      const { sql, moves, read } = prepared
      const verdicts = new Map<BatchItem<M>, Verdict>()
      const requests = readAll(batch, read, verdicts)
      if (requests.length === 0) return verdicts
      const applied = await applyTransitions(tx, requests, declared, moves, sql, verdicts)
      if (report !== undefined)
        for (const one of applied) report(one.request.item, one.aggregate, resultOf(one))
      return verdicts
    },
    ...afterOf(declared),
    ...(machine && { mermaid: () => drawMachine(machine) }),
  }
}

function resultOf<M>({ request, aggregate, move }: AppliedTransition<M>): TransitionResult {
  const { transitionId, version } = request
  return { transitionId, aggregateId: aggregate, from: move.from, to: move.to, version }
}

/** Adds the two cause columns to those that every transition sets. */
function withCause<M>(declared: TransitionDeclaration<M>): TransitionDeclaration<M> {
  if (declared?.cause !== true) return declared
  const caused: TransitionDeclaration<M>['set'] = {
    caused_by: (_, { envelope }) => envelope.id,
    caused_by_run: (_, { run }) => run,
  }
  return { ...declared, set: { ...declared.set, ...caused } }
}

function tracesOf<M>({ aggregate, facts, cause }: TransitionDeclaration<M>): readonly EffectTrace[] {
  const { table, key, state, version = null } = aggregate
  const moved = { consumer: 'consumer', at: 'at', covers: 'all' as const, content: [] }
  const shown = ['transition_id', 'from_state', 'to_state', 'actor', 'reason']
  const message = cause === true ? 'caused_by' : null
  return [
    {
      ...moved,
      table: facts,
      message: 'message_id',
      key: 'aggregate_id',
      version: version && 'version',
      shown,
    },
    { table, message, key, version, at: null, consumer: null, covers: 'some', shown: [state], content: [] },
  ]
}

function prepare<M>(declared: TransitionDeclaration<M>, shape: TableShape) {
  const moves = declared.machine === undefined ? null : movesOf(declared.machine)
  return { sql: statementsFor(declared, shape), moves, read: requestReader(declared, moves, shape) }
}
