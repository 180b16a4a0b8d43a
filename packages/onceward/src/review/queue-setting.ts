import { maxAgeMs } from '../contract/source-windows.ts'
import type { QueueState } from '../drivers/rabbitmq/describe-broker.ts'
import { limitInForce } from '../drivers/rabbitmq/management.ts'

/**
 * Pure: what is in force where an argument of a queue and a policy say something. RabbitMQ decides it
 * differently for each kind of value.
 */

/** An argument wins over a policy; `overflow` of a quorum queue is the other way round. */
export function setting({ type, arguments: own, policy }: QueueState, name: string): unknown {
  const mine = own[`x-${name}`]
  return name === 'overflow' && type === 'quorum' ? (policy[name] ?? mine) : (mine ?? policy[name])
}

/** The smaller of two numbers wins. */
export function limitSetting({ arguments: own, policy }: QueueState, name: string): unknown {
  const [mine, theirs] = [own[`x-${name}`], policy[name]]
  return typeof mine === 'number' && typeof theirs === 'number' ? Math.min(mine, theirs) : (mine ?? theirs)
}

/** -1 as an argument does not protect a queue from a policy. */
export function deliveryLimitSetting({ arguments: own, policy }: QueueState): unknown {
  return limitInForce(own['x-delivery-limit'], policy['delivery-limit'])
}

/** The shorter of two ages of a stream wins. */
export function maxAgeSetting({ arguments: own, policy }: QueueState): unknown {
  const [mine, theirs] = [own['x-max-age'], policy['max-age']]
  if (mine === undefined || theirs === undefined) return mine ?? theirs
  const [mineMs, theirsMs] = [maxAgeMs(String(mine)), maxAgeMs(String(theirs))]
  return mineMs === null || theirsMs === null || mineMs <= theirsMs ? mine : theirs
}
