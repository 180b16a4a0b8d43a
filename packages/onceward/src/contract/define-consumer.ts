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

/** Checks a contract and applies its defaults. Throws one error that lists every problem; starts nothing. */
export function defineConsumer<M = unknown, Tx = SqlTransaction>(
  contract: ConsumerContract<M, Tx>,
): Consumer<M, Tx> {
  const problems = contractProblems(contract as ConsumerContract)
  if (problems.length > 0) {
    const name = typeof contract?.name === 'string' ? ` of consumer "${contract.name}"` : ''
    throw new OncewardError(
      'contract_invalid',
      `The contract${name} cannot be used:\n${problems.map(p => `  - ${p.place}: ${p.text}`).join('\n')}\nNothing was started.`,
      { details: { problems } },
    )
  }
  return applyDefaults(contract)
}
