import { isRecord, type Report } from './check-values.ts'
import type { ConsumerContract } from './contract.ts'

/** Conflicts between deduplication and the time of acknowledgement. */
export function settleProblems(contract: ConsumerContract, wrong: Report): void {
  if (contract.settle !== undefined && !isRecord(contract.settle)) return
  const settle: NonNullable<ConsumerContract['settle']> = contract.settle ?? {}
  if (contract.dedup === 'checkpoint') checkpointProblems(contract, settle.when, wrong)
  if (contract.dedup === 'version') versionProblems(contract, settle.when, wrong)
  if (settle.when === 'before effect') atMostOnceProblems(contract, settle.lossAcceptable, wrong)
  else if (settle.lossAcceptable !== undefined)
    wrong(
      'settle.lossAcceptable',
      "has no effect without settle.when 'before effect': no messages are lost otherwise",
    )
}

function checkpointProblems(contract: ConsumerContract, when: string | undefined, wrong: Report): void {
  if (contract.order !== 'partition')
    wrong('dedup', "'checkpoint' needs order 'partition': only one batch per partition may be in progress")
  if (when !== undefined && when !== 'with effect')
    wrong('settle.when', "must be 'with effect' with dedup 'checkpoint': only the position is recorded")
  if (contract.identity?.businessKey !== undefined)
    wrong('identity.businessKey', "needs dedup 'marker': a position cannot record business keys")
}

function versionProblems(contract: ConsumerContract, when: string | undefined, wrong: Report): void {
  if (contract.effect?.apply?.remembers !== true)
    wrong('dedup', "'version' needs an effect whose rows have a version: effect.apply: projection({ … })")
  if (contract.identity?.businessKey !== undefined)
    wrong('identity.businessKey', "needs dedup 'marker': a version records only its own key")
  if (when === 'before effect')
    wrong(
      'settle.when',
      "'before effect' never redelivers, so dedup 'version' has no effect: remove one of them",
    )
}

function atMostOnceProblems(contract: ConsumerContract, reason: unknown, wrong: Report): void {
  if (typeof reason !== 'string' || reason.trim() === '')
    wrong(
      'settle.lossAcceptable',
      "must give the reason why losing messages is acceptable: 'before effect' loses messages in flight",
    )
  if (contract.risk === 'money' || contract.risk === 'regulatory')
    wrong('settle.when', `'before effect' loses messages, which risk '${contract.risk}' forbids`)
  const attempts = contract.failure?.attemptsMax
  if (attempts !== undefined && attempts !== 1)
    wrong(
      'failure.attemptsMax',
      "must be 1 with settle.when 'before effect': no message is redelivered for another attempt",
    )
  if (contract.failure?.exhausted === 'stop')
    wrong('failure.exhausted', "'stop' retries a message the source has already removed: use 'parked'")
}
