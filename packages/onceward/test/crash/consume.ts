import { defineConsumer } from '../../src/contract/define-consumer.ts'
import type { Reach } from '../../src/crash-points.ts'
import { realEnvironment } from '../../src/runtime/real-environment.ts'
import { type Running, runConsumer } from '../../src/runtime/run-consumer.ts'
import type { WorkerOrders } from './orders.ts'
import { workContract } from './workload.ts'

/**
 * Starts the consumer of the orders, in whichever process this is. What it complains of is told line by line.
 */
export function consume(
  orders: WorkerOrders,
  reach: Reach,
  complain: (line: string) => void,
): Promise<Running> {
  const log = {
    debug() {},
    info() {},
    warn: (message: string, fields?: object) => complain(`warn ${message} ${JSON.stringify(fields)}`),
    error: (message: string, fields?: object) => complain(`error ${message} ${JSON.stringify(fields)}`),
  }
  return runConsumer(defineConsumer(workContract(orders)), {
    databaseUrl: orders.databaseUrl,
    rabbitmqUrl: orders.urls?.rabbitmq,
    rabbitmqStreamUrl: orders.urls?.stream,
    kafkaBootstrap: orders.urls?.kafka,
    env: realEnvironment({ reach, log }),
    ...(orders.parts && { parts: orders.parts }),
    ...(orders.mode && { mode: orders.mode }),
    ...(orders.relayLeaseMs && { relayLeaseMs: orders.relayLeaseMs }),
    ...(orders.ledgerLeaseMs && { dispatcherLeaseMs: orders.ledgerLeaseMs }),
  })
}
