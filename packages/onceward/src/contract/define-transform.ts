import { OncewardError } from '../errors.ts'
import { applyDefaults } from './apply-defaults.ts'
import type { ConsumerContract } from './contract.ts'
import type { Consumer } from './define-consumer.ts'
import type { TransformContract } from './transform-contract.ts'
import { transformProblems } from './transform-problems.ts'

/**
 * A transform with its defaults applied, checked and frozen. It is a consumer whose position moves with its
 * outputs, so reading, failure rules, metrics and reviews are those of consumers.
 */
export interface Transform<M = unknown> extends Omit<Consumer<M, never>, 'declared'> {
  readonly to: readonly string[]
  readonly map: TransformContract<M>['map']
  /** The contract as given, without defaults. A policy file is compared with it. */
  readonly declared: TransformContract<M>
}

/** Checks a contract and applies its defaults. Throws one error that lists every problem; starts nothing. */
export function defineTransform<M = unknown>(contract: TransformContract<M>): Transform<M> {
  const problems = transformProblems(contract as TransformContract)
  if (problems.length > 0) {
    const name = typeof contract?.name === 'string' ? ` of transform "${contract.name}"` : ''
    throw new OncewardError(
      'contract_invalid',
      `The contract${name} cannot be used:\n${problems.map(p => `  - ${p.place}: ${p.text}`).join('\n')}\nNothing was started.`,
      { details: { problems } },
    )
  }
  const { to, map } = contract
  const consumer = applyDefaults(asConsumer(contract))
  return Object.freeze({
    ...consumer,
    to: Object.freeze([...to]),
    map,
    declared: { ...contract },
  }) as Transform<M>
}

/** True for a transform, for its contract, and for the parts of one. */
export function isTransform(declared: unknown): declared is Transform | TransformContract {
  return declared !== null && typeof declared === 'object' && ('map' in declared || 'to' in declared)
}

/** Order by partition and the position in the effect's transaction: what Kafka's transactions guarantee. */
function asConsumer<M>({ to, map, ...shared }: TransformContract<M>): ConsumerContract<M, never> {
  return {
    ...shared,
    identity: shared.identity ?? { id: 'position' },
    order: 'partition',
    dedup: 'checkpoint',
    settle: { when: 'with effect' },
  }
}
