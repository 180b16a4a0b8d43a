import { isRecord, type Report } from './check-values.ts'
import type { ConsumerContract } from './contract.ts'

/** What the contract says about remembering and telling, and what does not go together. */
export function settleProblems(contract: ConsumerContract, wrong: Report): void {
  if (contract.settle !== undefined && !isRecord(contract.settle)) return
  const settle: NonNullable<ConsumerContract['settle']> = contract.settle ?? {}
  if (contract.dedup === 'checkpoint') checkpointProblems(contract, settle.when, wrong)
  if (contract.dedup === 'version') versionProblems(contract, settle.when, wrong)
  if (settle.when === 'before effect') atMostOnceProblems(contract, settle.lossAcceptable, wrong)
  else if (settle.lossAcceptable !== undefined)
    wrong(
      'settle.lossAcceptable',
      "means nothing without settle.when 'before effect': nothing is lost otherwise",
    )
}

function checkpointProblems(contract: ConsumerContract, when: string | undefined, wrong: Report): void {
  if (contract.order !== 'partition')
    wrong('dedup', "'checkpoint' needs order 'partition': only one batch of a partition may be under way")
  if (when !== undefined && when !== 'with effect')
    wrong('settle.when', "must be 'with effect' under dedup 'checkpoint': the position is the only memory")
  if (contract.identity?.businessKey !== undefined)
    wrong('identity.businessKey', "needs dedup 'marker': a position cannot remember business keys")
}

function versionProblems(contract: ConsumerContract, when: string | undefined, wrong: Report): void {
  if (contract.effect?.apply?.remembers !== true)
    wrong('dedup', "'version' needs an effect whose rows carry a version: effect.apply: projection({ … })")
  if (contract.identity?.businessKey !== undefined)
    wrong('identity.businessKey', "needs dedup 'marker': a version remembers its key, no other")
  if (when === 'before effect')
    wrong('settle.when', "'before effect' has nothing to recognise again: leave dedup 'version' out")
}

function atMostOnceProblems(contract: ConsumerContract, reason: unknown, wrong: Report): void {
  if (typeof reason !== 'string' || reason.trim() === '')
    wrong(
      'settle.lossAcceptable',
      "must say why losing messages is acceptable: 'before effect' loses what is in flight",
    )
  if (contract.risk === 'money' || contract.risk === 'regulatory')
    wrong('settle.when', `'before effect' loses messages, which risk '${contract.risk}' does not allow`)
  const attempts = contract.failure?.attemptsMax
  if (attempts !== undefined && attempts !== 1)
    wrong(
      'failure.attemptsMax',
      "must be 1 under settle.when 'before effect': nothing comes back to be tried again",
    )
  if (contract.failure?.exhausted === 'stop')
    wrong('failure.exhausted', "'stop' waits for a message the source has already forgotten: use 'set aside'")
}
