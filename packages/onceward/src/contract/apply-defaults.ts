import type { ConsumerContract, MessageSection } from './contract.ts'
import type { Consumer } from './define-consumer.ts'
import { durationMs } from './duration.ts'
import { failureRules } from './failure-rules.ts'
import type { BatchContext } from './handler.ts'
import { resolveObjectives } from './objectives.ts'
import { type DefaultedIn, type WithDefaults, withDefaults } from './options/defaults.ts'
import type { SectionPath } from './options/section-types.ts'
import { contractOptions, type OptionTable } from './options/table.ts'
import { resolveRetention } from './retention.ts'

/** The consumer of a valid contract: the table supplies the options it omits. Pure. */
export function applyDefaults<M, Tx>(
  contract: ConsumerContract<M, Tx>,
  table: OptionTable = contractOptions,
): Consumer<M, Tx> {
  const message = messageSection(contract.message)
  const whole = { ...contract, message } as ConsumerContract<M, Tx> & { message: MessageSection<M> }
  const section = <S extends SectionPath & keyof ConsumerContract>(name: S) =>
    withDefaults(name, whole[name] as never, whole, table)
  const own: Pick<WithDefaults<''>, DefaultedIn<''>> = withDefaults('', contract as never, whole, table)
  const declared = contract.effect?.apply
  const handleBatch = declared && ((context: BatchContext<M, Tx>) => declared.apply(context as never))
  return frozen({
    ...contract,
    ...own,
    ...(handleBatch && { handleBatch }),
    settle: section('settle'),
    message: {
      maskedMembers: undefined,
      types: undefined,
      versions: undefined,
      ...section('message'),
      schema: message.schema,
      limits: withDefaults('message.limits', message.limits, whole, table),
    },
    failure: failureRules(contract, table),
    batch: section('batch'),
    isolation: section('isolation'),
    inbox: section('inbox'),
    replay: { ...section('replay'), windowMs: durationMs(contract.replay?.window) },
    objectives: resolveObjectives(whole as never, table),
    evidence: section('evidence'),
    retention:
      contract.retention === undefined
        ? null
        : resolveRetention(contract.retention, contract.risk, contract.effect as never, table),
    declared: { ...contract },
  })
}

function messageSection<M>(message: ConsumerContract<M>['message']): MessageSection<M> {
  if (message === undefined) return {}
  return '~standard' in message ? { schema: message } : message
}

/** Freezes the consumer and its plain sections, so that nothing changes while a process runs. */
function frozen<T extends object>(consumer: T): T {
  for (const value of Object.values(consumer)) {
    if (value !== null && typeof value === 'object' && Object.getPrototypeOf(value) === Object.prototype)
      frozen(value)
  }
  return Object.freeze(consumer)
}
