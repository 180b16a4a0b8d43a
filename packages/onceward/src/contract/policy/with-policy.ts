import { OncewardError } from '../../errors.ts'
import { nearestName } from '../../ports/nearest-name.ts'
import type { ConsumerContract } from '../contract.ts'
import { contractProblems } from '../contract-problems.ts'
import { type Consumer, defineConsumer } from '../define-consumer.ts'
import { defineTransform, isTransform, type Transform } from '../define-transform.ts'
import type { SqlTransaction } from '../handler.ts'
import { isTransformOption } from '../options/transform.ts'
import type { TransformContract } from '../transform-contract.ts'
import { transformProblems } from '../transform-problems.ts'
import { put } from './contract-path.ts'
import { mergePolicy, sourceName } from './merge-policy.ts'
import { type PolicyProblem, problemLines, type Refuse, refusing } from './problem.ts'
import { emptyLayer, type GivenValue } from './read-layer.ts'
import type { Policy } from './read-policy.ts'
import type { SecretReference } from './secret-reference.ts'

/**
 * A contract that a policy file completes. The parts that need code are in TypeScript; owner, risk and
 * identity may be in the file.
 */
export type ConsumerParts<
  M = unknown,
  Tx = SqlTransaction,
  External extends string = string,
  Publish extends string = string,
> = Omit<ConsumerContract<M, Tx, External, Publish>, FilePart> &
  Partial<Pick<ConsumerContract<M, Tx, External, Publish>, FilePart>>

type FilePart = 'owner' | 'risk' | 'identity'

/** The same for a transform. */
export type TransformParts<M = unknown> = Omit<TransformContract<M>, 'owner' | 'risk'> &
  Partial<Pick<TransformContract<M>, 'owner' | 'risk'>>

/**
 * Types the parts of a contract, like `defineConsumer`. `withPolicy` takes the missing ones from the policy
 * file, and checks what both say together.
 */
export function consumerParts<
  M = unknown,
  Tx = SqlTransaction,
  External extends string = string,
  Publish extends string = string,
>(parts: ConsumerParts<M, Tx, External, Publish>): ConsumerParts<M, Tx> {
  return parts as ConsumerParts<M, Tx>
}

export interface WithPolicyOptions {
  /**
   * Where `${env:NAME}` is looked up. Without it, addresses are omitted: enough to inspect a contract, but
   * not to run it.
   */
  readonly environment?: Readonly<Record<string, string | undefined>>
}

/**
 * The consumer or transform made from a contract and a policy file. Throws one error that lists every problem
 * in either, with line and column for those of the file; starts nothing.
 */
export function withPolicy<M = unknown, Tx = SqlTransaction>(
  contract: ConsumerParts<M, Tx> | Consumer<M, Tx>,
  policy: Policy,
  options?: WithPolicyOptions,
): Consumer<M, Tx>
export function withPolicy<M = unknown>(
  contract: TransformParts<M> | Transform<M>,
  policy: Policy,
  options?: WithPolicyOptions,
): Transform<M>
export function withPolicy(
  contract: ConsumerParts | Consumer | TransformParts | Transform,
  policy: Policy,
  { environment }: WithPolicyOptions = {},
): Consumer | Transform {
  const declared = (contract as Partial<Consumer>)?.declared ?? (contract as ConsumerParts)
  const kind = isTransform(declared) ? ofTransform : ofConsumer
  const problems = [...policy.problems]
  const refuse = refusing(policy.file, problems)
  namedProblem(declared?.name, policy, refuse)
  const { merged, from } = mergePolicy({ ...declared }, policy.policies, refuse, kind.applies)
  const reached = withAddresses(merged, from, environment, refuse)
  const own = kind.problems(reached as never).filter(({ place }) => !isUnread(place, declared, policy))
  const inCode = own.filter(({ place, text }) => !placed(place, text, from, policy, problems))
  if (problems.length === 0 && inCode.length === 0) return kind.define(reached as never)
  const lines = [problemLines(problems), ...inCode.map(({ place, text }) => `  - ${place}: ${text}`)]
  throw new OncewardError(
    'contract_invalid',
    `The contract of ${kind.name} "${String(declared?.name)}" with the policy file ${policy.file} cannot be used:\n${lines.filter(line => line !== '').join('\n')}\nNothing was started.`,
    { details: { problems: [...problems, ...inCode] } },
  )
}

const ofConsumer = {
  name: 'consumer',
  applies: () => true,
  problems: (contract: never) => contractProblems(contract),
  define: (contract: ConsumerContract): Consumer | Transform => defineConsumer(contract) as Consumer,
}
const ofTransform = {
  name: 'transform',
  applies: isTransformOption,
  problems: (contract: never) => transformProblems(contract),
  define: (contract: TransformContract): Consumer | Transform => defineTransform(contract),
}

/**
 * A consumer that the policy file does not name was misspelt or forgotten, and would run without its policy.
 */
function namedProblem(name: unknown, { policies: { consumers } }: Policy, refuse: Refuse): void {
  if (typeof name !== 'string' || consumers.has(name)) return
  const near = nearestName(name, [...consumers.keys()])
  const hint =
    near === null ? `add "${name}: {}" if the defaults are all it needs` : `did you mean this by '${near}'?`
  refuse(
    near === null ? { line: 1, column: 1 } : consumers.get(near)!.at,
    ['consumers'],
    `has no ${name}: ${hint}`,
  )
}

/** Reports a problem of the contract at the place in the file that set the value. */
function placed(
  place: string,
  text: string,
  from: ReadonlyMap<string, GivenValue>,
  { file }: Policy,
  problems: PolicyProblem[],
): boolean {
  const given = from.get(place)
  if (given === undefined) return false
  refusing(file, problems)(given.at, given.filePath, text)
  return true
}

/** Whether the file has an unreadable value at this place. It has been reported, and is not missing. */
function isUnread(place: string, contract: { name?: unknown }, { policies }: Policy): boolean {
  const { consumers, sources, defaults } = policies
  const layers = [
    consumers.get(String(contract?.name)) ?? emptyLayer,
    sources.get(sourceName(contract as never) ?? '') ?? emptyLayer,
    defaults,
  ]
  return layers.some(layer =>
    layer.unread.some(path => {
      const unread = path.join('.')
      return place === unread || place.startsWith(`${unread}.`) || unread.startsWith(`${place}.`)
    }),
  )
}

function withAddresses(
  contract: Readonly<Record<string, unknown>>,
  from: ReadonlyMap<string, GivenValue>,
  environment: WithPolicyOptions['environment'],
  refuse: Refuse,
): Readonly<Record<string, unknown>> {
  let reached = contract
  for (const given of from.values()) {
    if (given.key.kind !== 'address') continue
    const { env } = given.value as SecretReference
    const value = environment?.[env]
    if (environment !== undefined && (value === undefined || value === ''))
      refuse(given.at, given.filePath, `needs the environment variable ${env}, which is not set`)
    reached = put(reached, given.path!, value) as typeof reached
  }
  return reached
}
