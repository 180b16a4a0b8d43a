import { byBroker } from '../contracts/retry-levels.ts'
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
  retryProblems(failure, wrong)
  modeProblems(contract, failure, wrong)
  if (failure.exhausted === 'stop' && optionReader(contract)('order') === 'none')
    wrong(
      'failure.exhausted',
      "'stop' holds a lane, and order 'none' has none: use order 'key' or 'partition'",
    )
  passingProblems(contract, failure, wrong)
}

/** One thing is said in one place: a policy that was pasted beside the plain fields would win or lose without anybody noticing. */
function retryProblems(failure: FailureSection, wrong: Report): void {
  const { retry } = failure
  if (!isRecord(retry)) return
  const both = retry.jitter !== undefined && retry.backoff !== undefined
  if (both && (retry.backoff === 'exponential') === retry.jitter)
    wrong('failure.retry.jitter', 'contradicts failure.retry.backoff: leave one of the two out')
  const twice = [
    ['attemptsMax', 'maxAttempts'],
    ['delayMs', 'initialDelayMs'],
    ['delayMaxMs', 'maxDelayMs'],
  ] as const
  for (const [plain, pasted] of twice) {
    if (failure[plain] !== undefined && retry[pasted] !== undefined)
      wrong(`failure.${plain}`, `is said a second time by failure.retry.${pasted}: leave one of the two out`)
  }
  codeProblems(failure, wrong)
}

function codeProblems({ retry, classes = {} }: FailureSection, wrong: Report): void {
  const seen = new Set(Object.keys(classes))
  for (const name of ['retryable', 'nonRetryable'] as const) {
    const codes: unknown = retry![name]
    if (!Array.isArray(codes) || codes.some(code => typeof code !== 'string' || code === '')) continue
    for (const code of codes) {
      if (seen.has(code)) wrong(`failure.retry.${name}`, `names '${code}', which is classed elsewhere too`)
      seen.add(code)
    }
  }
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
