import { isRecord, type Report } from './check-values.ts'
import type { ContractProblem } from './contract-problems.ts'
import { isGrave } from './failure-rules.ts'
import { optionProblems } from './options/option-problems.ts'
import { transformOptions } from './options/transform.ts'
import type { TransformContract } from './transform-contract.ts'

const rules: readonly ((contract: TransformContract, wrong: Report) => void)[] = [
  sourceProblems,
  targetProblems,
  passingProblems,
]

/** Every problem of a transform's contract at once. Pure; accepts data of any shape. */
export function transformProblems(contract: TransformContract): ContractProblem[] {
  const problems: ContractProblem[] = []
  const wrong = (place: string, text: string) => void problems.push({ place, text })
  if (!isRecord(contract)) return [{ place: 'contract', text: 'must be an object' }]
  const identity = contract.identity ?? { id: 'position' }
  optionProblems({ ...contract, identity }, wrong, transformOptions)
  for (const rule of rules) rule(contract as TransformContract, wrong)
  return problems
}

interface DeclaredTopic {
  readonly kind?: unknown
  readonly topic?: unknown
  readonly isolation?: unknown
}

function sourceProblems({ source }: TransformContract, wrong: Report): void {
  if (!isRecord(source)) return
  const { kind, isolation } = source as DeclaredTopic
  if (kind !== 'kafka')
    wrong('source', "must be a Kafka topic: outputs and offsets are one transaction of Kafka's")
  if (isolation === 'uncommitted')
    wrong('source.isolation', "must be 'committed': outputs of records that were aborted would stay")
}

/** A record that returns to the source would be transformed again, without end. */
function targetProblems({ source, to, failure }: TransformContract, wrong: Report): void {
  const from = isRecord(source) ? (source as DeclaredTopic).topic : undefined
  const targets = Array.isArray(to) ? to : []
  if (from !== undefined && targets.includes(from)) wrong('to', `names ${from}, the source itself`)
  const dead = deadLetterOf(failure)
  if (dead !== undefined && dead === from) wrong('failure.deadLetter', `names ${dead}, the source itself`)
  if (dead !== undefined && targets.includes(dead))
    wrong('failure.deadLetter', `names ${dead}, which receives outputs: give dead letters their own topic`)
}

function deadLetterOf(failure: unknown): string | undefined {
  const declared = isRecord(failure) ? failure.deadLetter : undefined
  const to = isRecord(declared) ? declared.to : declared
  return typeof to === 'string' ? to : undefined
}

/** A partition continues past a dead letter, so the business must have accepted that. */
function passingProblems({ risk, failure }: TransformContract, wrong: Report): void {
  if (!isGrave(risk) || deadLetterOf(failure) === undefined || failure?.exhausted === 'stop') return
  const { deadLetter } = failure!
  if (isRecord(deadLetter) && deadLetter.passingAcceptedBy !== undefined) return
  wrong(
    'failure.deadLetter.passingAcceptedBy',
    `must name who accepts that a partition continues past a dead letter: risk '${risk}' requires it, or failure.exhausted 'stop'`,
  )
}
