import { isRecord, type Report } from './check-values.ts'
import type { ConsumerContract } from './contract.ts'

/**
 * RabbitMQ's address says whether the connection is encrypted: a switch beside it could only contradict it.
 */
export function sourceProblems({ source }: ConsumerContract, wrong: Report): void {
  if (!isRecord(source) || typeof source.tls !== 'boolean') return
  if (source.kind === 'rabbitmq' || source.kind === 'rabbitmq-stream')
    wrong(
      'source.tls',
      'is true or false for Kafka only: begin the address of RabbitMQ with amqps:// or rabbitmq-stream+tls://',
    )
}
