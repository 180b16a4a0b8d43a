import { byBroker } from '../ports/retry-levels.ts'
import { isRecord, type Report } from './check-values.ts'
import type { ConsumerContract } from './contract.ts'
import { isGrave } from './failure-rules.ts'
import type { FailureSection } from './failure-section.ts'
import { optionReader } from './options/defaults.ts'
import { readsLog } from './reads-log.ts'
import { brokerRetryProblems } from './retry-problems.ts'

/** Conflicts between the failure section and the rest of the contract. */
export function failureProblems(contract: ConsumerContract, wrong: Report): void {
  const { failure = {} } = contract
  if (!isRecord(failure)) return
  modeProblems(contract, failure, wrong)
  if (failure.exhausted === 'stop' && optionReader(contract)('order') === 'none')
    wrong(
      'failure.exhausted',
      "'stop' blocks a lane, and order 'none' has no lanes: use order 'key' or 'partition'",
    )
  for (const [name, policy] of Object.entries(failure.policies ?? {}))
    if (policy?.terminal === 'ignored' && name !== 'business conflict')
      wrong(
        `failure.policies.${name}.terminal`,
        "'ignored' would drop the message: only a business conflict shows that its effect is there",
      )
  redeliveryProblems(contract, failure, wrong)
  passingProblems(contract, failure, wrong)
}

function redeliveryProblems(contract: ConsumerContract, failure: FailureSection, wrong: Report): void {
  const { redelivery, exhausted } = failure
  if (!isRecord(redelivery) || !isRecord(contract.source)) return
  const { kind, type = 'quorum' } = contract.source as { kind: string; type?: string }
  if (kind === 'rabbitmq' ? type !== 'quorum' : readsLog(contract))
    wrong(
      'failure.redelivery',
      'needs a source that counts deliveries: a quorum queue, or a PostgreSQL queue',
    )
  if (redelivery.action === 'set aside' && exhausted === 'stop')
    wrong(
      'failure.redelivery.action',
      "'set aside' contradicts failure.exhausted 'stop': use 'slowed' or 'isolated'",
    )
}

function modeProblems(contract: ConsumerContract, { mode }: FailureSection, wrong: Report): void {
  if (mode !== undefined && byBroker(mode)) return brokerRetryProblems(contract, mode, wrong)
  if (mode !== 'defer') return
  if (contract.order === 'partition')
    wrong(
      'failure.mode',
      "'defer' lets later messages pass, which order 'partition' forbids: use order 'key', or mode 'block'",
    )
  if (contract.dedup !== undefined && contract.dedup !== 'marker')
    wrong(
      'failure.mode',
      "'defer' needs dedup 'marker': only a marker distinguishes a deferred message from an applied one",
    )
  if (contract.settle?.when === 'before effect')
    wrong(
      'failure.mode',
      "'defer' keeps messages that settle.when 'before effect' gives up: remove one of the two",
    )
}

/** A partition cannot wait behind a message that was set aside, so the business must have accepted that. */
function passingProblems(contract: ConsumerContract, failure: FailureSection, wrong: Report): void {
  if (contract.order !== 'partition' || !isGrave(contract.risk) || failure.exhausted === 'stop') return
  if (contract.settle?.when === 'before effect') return
  const { deadLetter } = failure
  if (isRecord(deadLetter) && deadLetter.passingAcceptedBy !== undefined) return
  wrong(
    'failure.deadLetter.passingAcceptedBy',
    `must name who accepts that a partition continues past a message that was set aside: risk '${contract.risk}' with order 'partition' requires it, or failure.exhausted 'stop'`,
  )
}
