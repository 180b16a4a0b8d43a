import { OncewardError } from '../errors.ts'
import type { Codec } from '../message/codec.ts'
import { jsonCodec } from '../message/codec.ts'
import { defaultLimits, type Limits } from '../message/limits.ts'
import { acceptsNull } from './accepts-null.ts'
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
import { durationMs } from './duration.ts'
import { type FailureRules, failureRules } from './failure-rules.ts'
import type { BatchContext, SqlTransaction } from './handler.ts'
import { type Objectives, resolveObjectives } from './objectives.ts'
import { readsLog } from './reads-log.ts'
import { type Retention, resolveRetention } from './retention.ts'
import type { ReplaySection } from './upkeep-sections.ts'

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
  /** Null: nothing is ever removed. */
  readonly retention: Retention | null
  /** The contract as it was given, without defaults: what a policy file is compared with. */
  readonly declared: ConsumerContract<M, Tx>
}

/** Checks a contract and applies its defaults. Throws one error naming every problem; starts nothing. */
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
  const message = messageSection(contract.message)
  const declared = contract.effect?.apply
  const handleBatch = declared && ((context: BatchContext<M, Tx>) => declared.apply(context as never))
  return frozen({
    ...contract,
    ...(handleBatch && { handleBatch }),
    generation: contract.generation ?? 1,
    order: contract.order ?? 'none',
    dedup: contract.dedup ?? 'marker',
    settle: {
      when: contract.dedup === 'checkpoint' ? ('with effect' as const) : ('after effect' as const),
      lossAcceptable: '',
      ...given(contract.settle),
    },
    handlerVersion: contract.handlerVersion ?? 'unversioned',
    message: {
      schema: message.schema,
      codec: message.codec ?? jsonCodec,
      limits: { ...defaultLimits, ...given(message.limits) },
      digestHeaders: message.digestHeaders ?? [],
      types: message.types,
      versions: message.versions,
      tombstones:
        message.tombstones ?? (declared?.tombstones || acceptsNull(message.schema) ? 'handle' : 'quarantine'),
    },
    failure: failureRules(contract),
    batch: {
      sizeMax: 500,
      inFlightMax: 2,
      deliveriesMax: readsLog(contract) ? 3_000 : 2_000,
      bytesMax: 64 * 1024 * 1024,
      handlerTimeoutMs: 10_000,
      ...given(contract.batch),
    },
    isolation: {
      mode: 'none' as const,
      deadlineMs: Math.max(1_000, contract.batch?.handlerTimeoutMs ?? 10_000),
      memoryMaxMb: null,
      ...given(contract.isolation),
    },
    inbox: { mode: 'transactional' as const, leaseMs: 30_000, workers: 2, ...given(contract.inbox) },
    replay: {
      modes: contract.dedup === 'checkpoint' ? ['forensic'] : ['replay', 'repair', 'forensic'],
      effects: 'with approval' as const,
      tables: [],
      compare: {},
      ...given(contract.replay),
      windowMs: durationMs(contract.replay?.window),
    },
    objectives: resolveObjectives(given(contract.objectives), {
      risk: contract.risk,
      handlerTimeoutMs: contract.batch?.handlerTimeoutMs ?? 10_000,
    }),
    retention:
      contract.retention === undefined ? null : resolveRetention(given(contract.retention), contract.risk),
    declared: { ...contract },
  })
}

function messageSection<M>(message: ConsumerContract<M>['message']): MessageSection<M> {
  if (message === undefined) return {}
  return '~standard' in message ? { schema: message } : message
}

/** A key given as undefined is a key not given. */
function given<T extends object>(section: T | undefined): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const entries = Object.entries(section ?? {}).filter(([, value]) => value !== undefined)
  return Object.fromEntries(entries) as { [K in keyof T]?: Exclude<T[K], undefined> }
}

/** The consumer and its plain sections, so that nothing changes under a running process. */
function frozen<T extends object>(consumer: T): T {
  for (const value of Object.values(consumer)) {
    if (value !== null && typeof value === 'object' && Object.getPrototypeOf(value) === Object.prototype)
      frozen(value)
  }
  return Object.freeze(consumer)
}
