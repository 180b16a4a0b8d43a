import { createInterface } from 'node:readline'
import { KafkaConnections } from '../../src/drivers/kafka/client/connections.ts'
import { TransactionalProducer } from '../../src/drivers/kafka/client/transactions.ts'
import { dieAt } from '../../src/testing/crash.ts'

/** A transactional producer that does what its input says, and dies while it ends a transaction again. */
const { bootstrap, topic, transactionalId } = JSON.parse(process.argv[2]!) as Record<string, string>

const producer = new TransactionalProducer(new KafkaConnections({ bootstrap: bootstrap! }), {
  transactionalId: transactionalId!,
  transactionTimeoutMs: 600_000,
  deliveryTimeoutMs: 300_000,
  reach: dieAt('transform.repairing'),
})
await producer.start()
process.stdout.write('started\n')

for await (const line of createInterface({ input: process.stdin })) {
  const [act, value] = line.split(' ')
  if (act === 'commit') await producer.commit()
  else
    await producer.send([
      { topic: topic!, partition: 0, key: null, value: Buffer.from(value!), headers: [], timestampMs: 1 },
    ])
  process.stdout.write(`${line}\n`)
}
