import type { SourceDeclaration } from '../../contract/contract.ts'
import type { Consumer } from '../../contract/define-consumer.ts'
import type { ExternalTarget } from '../../contract/external-target.ts'
import type { ClassRules, FailureRules, PolicyClass } from '../../contract/failure-rules.ts'
import type { SqlTransaction } from '../../contract/handler.ts'
import type { PublishTarget } from '../../contract/publish-target.ts'
import { readsLog } from '../../contract/reads-log.ts'
import { file } from '../../drivers/file/declaration.ts'
import { postgresQueue } from '../../drivers/postgres/queue/declaration.ts'
import { scratchQueue } from '../../drivers/postgres/verify/scratch-copy.ts'
import { byBroker } from '../../ports/retry-levels.ts'
import { type OnIdle, watchedEffect, watchedHandlers } from './handler-calls.ts'
import type { ChildOrders } from './orders.ts'

type AnyConsumer = Consumer<unknown, SqlTransaction>

/** Order by partition, identity by position and positions in the store exist only on logs. */
export function needsLog(consumer: AnyConsumer): boolean {
  if (!readsLog(consumer)) return false
  const { order, dedup, settle, identity } = consumer
  return (
    order === 'partition' || dedup !== 'marker' || settle.when === 'with effect' || identity.id === 'position'
  )
}

/**
 * The consumer with its own contract, handler and store, but with a source in the scratch database. Leases
 * and retry delays are short, nothing is removed, and published messages stay in the outbox.
 */
export function verifiedConsumer(consumer: AnyConsumer, orders: ChildOrders, onIdle: OnIdle): AnyConsumer {
  const { batch, inbox, effect, order } = consumer
  const one = orders.serial ? { sizeMax: 1, inFlightMax: 1 } : {}
  const largest = orders.sizeMax === null ? {} : { sizeMax: orders.sizeMax }
  return {
    ...consumer,
    ...watchedHandlers(consumer, onIdle),
    source: sourceOf(orders, order === 'key'),
    // Campaigns of graver risks need the approval of a second person, and there is none here.
    risk: 'low value',
    batch: { ...batch, ...largest, ...one },
    inbox: { ...inbox, leaseMs: leaseMs * 4, ...(orders.serial && { workers: 1 }) },
    failure: quickFailures(consumer.failure, orders.logFile !== null),
    isolation: { ...consumer.isolation, mode: 'none' },
    retention: null,
    ...(effect && { effect: effectHere(effect, orders.stubPort) }),
  }
}

const leaseMs = 1_500

function sourceOf({ logFile }: ChildOrders, keyOrder: boolean): SourceDeclaration {
  if (logFile !== null) return file(logFile, { pollMaxMs: 20, standbyMs: 200 })
  return postgresQueue(scratchQueue, { leaseMs, keyOrder })
}

const longestDelayMs = 40

function quickFailures(failure: FailureRules, isLog: boolean): FailureRules {
  const rules = Object.fromEntries(
    Object.entries(failure.rules).map(([name, rule]) => [name, quick(rule)]),
  ) as Record<PolicyClass, ClassRules>
  return {
    ...failure,
    rules,
    retryLevelsMs: [],
    mode: byBroker(failure.mode) ? (isLog ? 'block' : 'defer') : failure.mode,
    // The message itself is kept and compared; the copy on a broker is not needed.
    deadLetter: null,
    breaker: failure.breaker && { ...failure.breaker, pauseMs: longestDelayMs, pauseMaxMs: longestDelayMs },
  }
}

function quick(rule: ClassRules): ClassRules {
  return {
    ...rule,
    delayMs: Math.min(rule.delayMs, longestDelayMs),
    delayMaxMs: Math.min(rule.delayMaxMs, longestDelayMs),
  }
}

type Effect = NonNullable<AnyConsumer['effect']>

function effectHere(effect: Effect, stubPort: number): Effect {
  const { apply, publish, external } = effect
  return {
    ...effect,
    ...(apply && { apply: watchedEffect(apply) }),
    ...(publish && { publish: inOutbox(publish) }),
    ...(external && { external: atStub(external, stubPort) }),
  }
}

/** Calls that a handler makes at once, by effects.call, reach the stub. Others stay in the ledger. */
function atStub(
  targets: Readonly<Record<string, ExternalTarget>>,
  stubPort: number,
): Record<string, ExternalTarget> {
  const url = `http://127.0.0.1:${stubPort}/`
  return Object.fromEntries(
    Object.entries(targets).map(([name, target]) => [
      name,
      'url' in target ? { ...target, url, allowPrivate: true } : target,
    ]),
  )
}

function inOutbox(targets: Readonly<Record<string, PublishTarget>>): Record<string, PublishTarget> {
  return Object.fromEntries(
    Object.keys(targets).map(name => [name, { broker: 'cdc', topic: name } satisfies PublishTarget]),
  )
}
