import { byBroker } from '../ports/retry-levels.ts'
import { isRecord, type Report } from './check-values.ts'
import type { ConsumerContract } from './contract.ts'
import { isGrave } from './failure-rules.ts'
import type { FailureSection } from './failure-section.ts'
import { optionReader } from './options/defaults.ts'
import { brokerRetryProblems } from './retry-problems.ts'

/** What does not go together with what the contract says about failing. */
export function failureProblems(contract: ConsumerContract, wrong: Report): void {
  const { failure = {} } = contract
  if (!isRecord(failure)) return
  modeProblems(contract, failure, wrong)
  if (failure.exhausted === 'stop' && optionReader(contract)('order') === 'none')
    wrong(
      'failure.exhausted',
      "'stop' holds a lane, and order 'none' has none: use order 'key' or 'partition'",
    )
  passingProblems(contract, failure, wrong)
}

function modeProblems(contract: ConsumerContract, { mode }: FailureSection, wrong: Report): void {
  if (mode !== undefined && byBroker(mode)) return brokerRetryProblems(contract, mode, wrong)
  if (mode !== 'defer') return
  if (contract.order === 'partition')
    wrong(
      'failure.mode',
      "'defer' lets others pass, and order 'partition' lets nobody pass: use order 'key', or mode 'block'",
    )
  if (contract.dedup !== undefined && contract.dedup !== 'marker')
    wrong(
      'failure.mode',
      "'defer' needs dedup 'marker': only a marker can tell what is deferred from what is done",
    )
  if (contract.settle?.when === 'before effect')
    wrong('failure.mode', "'defer' keeps what settle.when 'before effect' gives up: leave one of the two out")
}

/** A partition cannot wait behind what is set aside, so somebody must have said that it need not. */
function passingProblems(contract: ConsumerContract, failure: FailureSection, wrong: Report): void {
  if (contract.order !== 'partition' || !isGrave(contract.risk) || failure.exhausted === 'stop') return
  if (contract.settle?.when === 'before effect') return
  const { deadLetter } = failure
  if (isRecord(deadLetter) && deadLetter.passingAcceptedBy !== undefined) return
  wrong(
    'failure.deadLetter.passingAcceptedBy',
    `must say who accepts that a partition goes on past a message that was set aside: risk '${contract.risk}' with order 'partition' needs it, or failure.exhausted 'stop'`,
  )
}
