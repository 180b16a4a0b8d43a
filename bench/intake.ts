import type { Task } from './contenders/contender.ts'
import {
  type Contender,
  keepsCheckpoint,
  partitionsOf,
  readsLog,
  readsQueue,
} from './contenders/contenders.ts'
import { assertEmpty, fillPostgres, fillRabbitmq } from './fill.ts'
import type { FilledLogs } from './logs/filled-log.ts'
import { type PreparedPlace, queueNameOf } from './place.ts'
import { bodiesOf, type Load } from './workload.ts'

/** Puts the load where the contender reads: its own queue, or the log that all contenders of a round read. */
export async function prepareTask(place: PreparedPlace, contender: Contender, load: Load): Promise<Task> {
  const { name, broker, role } = contender
  const partitions = partitionsOf(contender)
  const logs = logsOf(place, contender)
  if (logs !== null) return { ...(await logs.prepare(partitions, load, name)), partitions, load }
  const queue = queueNameOf(name)
  if (readsQueue(role) && broker === 'rabbitmq') await fillRabbitmq(place.rabbitmqUrl!, queue, bodiesOf(load))
  if (readsQueue(role) && broker === 'postgres') await fillPostgres(place.pool, queue, bodiesOf(load))
  return { queue, group: '', partitions, load }
}

/**
 * Throws unless every position is committed to the broker. Where the store keeps the position, the broker's is only
 * a hint.
 */
export async function assertConsumed(place: PreparedPlace, contender: Contender, task: Task): Promise<void> {
  const { broker, role } = contender
  if (!readsQueue(role)) return
  if (broker === 'rabbitmq') await assertEmpty(place.rabbitmqUrl!, task.queue)
  if (role === 'raw' || keepsCheckpoint(role)) return
  await logsOf(place, contender)?.assertCommitted(task.queue, task.group, task.load.count)
}

function logsOf({ logs }: PreparedPlace, contender: Contender): FilledLogs | null {
  return readsLog(contender) ? logs[contender.broker] : null
}
