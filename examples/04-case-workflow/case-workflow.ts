import { defineConsumer, type StateMachine, transition } from 'onceward'
import { postgresQueue } from 'onceward/postgres'
import { type CaseMoved, CaseStep } from './messages.ts'
import { readSettings, type Settings } from './settings.ts'

/** All transitions of a case. Others are refused. */
export const lifecycle: StateMachine = {
  initial: 'NEW',
  states: ['NEW', 'UNDER_REVIEW', 'ESCALATED', 'ENFORCEMENT_ACTIONED', 'CLOSED'],
  events: {
    CaseOpened: { from: null, to: 'NEW' },
    ReviewStarted: { from: 'NEW', to: 'UNDER_REVIEW' },
    CaseEscalated: { from: 'UNDER_REVIEW', to: 'ESCALATED' },
    EnforcementActioned: { from: 'ESCALATED', to: 'ENFORCEMENT_ACTIONED' },
    CaseClosed: { from: ['UNDER_REVIEW', 'ESCALATED', 'ENFORCEMENT_ACTIONED'], to: 'CLOSED' },
    // Neither a duplicate of the closure nor a change to it: a separate fact with the corrected outcome.
    ClosureCorrected: { from: 'CLOSED', to: 'CLOSED' },
  },
}

export function caseWorkflow({ queue, moveQueue, leaseMs }: Settings) {
  return defineConsumer<CaseStep>({
    name: 'case_workflow',
    owner: 'case platform team',
    risk: 'regulatory',
    source: postgresQueue(queue, { leaseMs }),
    message: CaseStep,
    identity: { id: m => m.messageId, aggregateId: m => m.caseId, type: m => m.type },
    failure: { attemptsMax: 8 },
    effect: {
      publish: { moves: { broker: 'postgres', queue: moveQueue } },
      apply: transition<CaseStep>({
        machine: lifecycle,
        aggregate: { table: 'case_workflow', key: 'case_id', state: 'state', version: 'version' },
        facts: 'case_transition',
        aggregateId: m => m.caseId,
        transitionId: m => m.transitionId,
        event: m => m.type,
        version: m => m.caseVersion,
        actor: m => m.actor,
        reason: m => m.reason,
        set: { outcome: m => m.outcome },
        on: { illegal: 'reject' },
        retryDelayMs: 500,
        // Only for steps that happened, in the transaction that wrote them.
        after({ message, result, effects }) {
          const { transitionId, aggregateId, from, to, version } = result
          const { reason } = message
          const moved: CaseMoved = {
            transitionId,
            caseId: aggregateId,
            from,
            to,
            version: Number(version),
            reason,
          }
          effects.publish('moves', { key: aggregateId, type: 'CaseMoved', body: moved })
        },
      }),
    },
  })
}

export default caseWorkflow(readSettings())
