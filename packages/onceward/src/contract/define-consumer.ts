import { OncewardError } from '../errors.ts'
import type { Codec } from '../message/codec.ts'
import type { Limits } from '../message/limits.ts'
import { applyDefaults } from './apply-defaults.ts'
import type {
  BatchSection,
  ConsumerContract,
  Dedup,
  IdentitySection,
  InboxSection,
  IsolationSection,
  MessageSection,
  SettleSection,
} from './contract.ts'
import { contractProblems } from './contract-problems.ts'
import type { ContractRules } from './contract-rules.ts'
import type { FailureRules } from './failure-rules.ts'
import type { SqlTransaction } from './handler.ts'
import type { Objectives } from './objectives.ts'
import type { Retention } from './retention.ts'
import type { EvidenceSection, ReplaySection } from './upkeep-sections.ts'

/** A contract with its defaults applied, checked and frozen. */
export interface Consumer<M = unknown, Tx = unknown>
  extends Omit<
    ConsumerContract<M, Tx>,
    | 'message'
    | 'failure'
    | 'batch'
    | 'inbox'
    | 'isolation'
    | 'identity'
    | 'settle'
    | 'replay'
    | 'evidence'
    | 'retention'
    | 'objectives'
  > {
  readonly generation: number
  readonly order: 'none' | 'key' | 'partition'
  readonly dedup: Dedup
  readonly settle: Required<SettleSection>
  readonly handlerVersion: string
  readonly message: {
    readonly schema: MessageSection<M>['schema']
    readonly codec: Codec
    readonly limits: Limits
    readonly digestHeaders: readonly string[]
    readonly maskedMembers: MessageSection<M>['maskedMembers']
    readonly types: MessageSection<M>['types']
    readonly versions: MessageSection<M>['versions']
    readonly tombstones: 'quarantine' | 'handle'
  }
  readonly identity: IdentitySection<M>
  readonly failure: FailureRules
  readonly batch: Required<BatchSection>
  readonly inbox: Required<InboxSection>
  readonly isolation: Required<IsolationSection>
  readonly replay: Required<Omit<ReplaySection, 'window'>> & { readonly windowMs: number | null }
  readonly objectives: Objectives
  readonly evidence: Required<EvidenceSection>
  /** Null: nothing is ever removed. */
  readonly retention: Retention | null
  /** The contract as given, without defaults. A policy file is compared with it. */
  readonly declared: ConsumerContract<M, Tx>
}

/**
 * Checks a contract and applies its defaults. Throws one error that lists every problem; starts nothing.
 *
 * The type of a message comes from the schema, or from an annotation as in `id: (m: Order) => m.id`. With
 * type arguments instead, the compiler knows neither the names of targets (they are the third and the fourth
 * argument) nor which options contradict each other: these errors are then thrown at the start.
 */
export function defineConsumer<
  M = unknown,
  Tx = SqlTransaction,
  External extends string = never,
  Publish extends string = never,
  const Contract extends object = object,
>(
  contract: ConsumerContract<M, Tx, External, Publish> & Contract & ContractRules<Contract>,
): Consumer<M, Tx> {
  const problems = contractProblems(contract as unknown as ConsumerContract)
  if (problems.length > 0) {
    const name = typeof contract?.name === 'string' ? ` of consumer "${contract.name}"` : ''
    throw new OncewardError(
      'contract_invalid',
      `The contract${name} cannot be used:\n${problems.map(p => `  - ${p.place}: ${p.text}`).join('\n')}\nNothing was started.`,
      { details: { problems } },
    )
  }
  return applyDefaults<M, Tx>(contract as unknown as ConsumerContract<M, Tx>)
}
