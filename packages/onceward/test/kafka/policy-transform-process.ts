import type { CrashPoint } from '../../src/crash-points.ts'
import { topic } from '../../src/drivers/kafka/topic.ts'
import { bytesCodec, defineTransform, realEnvironment, reject, runTransform } from '../../src/index.ts'
import { dieAt } from '../../src/testing/crash.ts'

export interface TransformOrders {
  readonly bootstrap: string
  readonly from: string
  readonly to: string
  readonly dead: string
  readonly group: string
  readonly instance?: string
  readonly batchMax: number
  readonly delayMs: number
  readonly dieAt?: { readonly point: CrashPoint; readonly hit: number }
}

/**
 * A transform in a process of its own, to be killed: `7` at the end is a dead letter, `3` fails once in each
 * process, everything else becomes itself.
 */
const orders = JSON.parse(process.argv[2]!) as TransformOrders
const failed = new Set<string>()

const transform = defineTransform<Buffer>({
  name: 'killed',
  owner: 'team',
  risk: 'low value',
  source: topic(orders.from, {
    group: orders.group,
    start: 'earliest',
    sessionTimeoutMs: 6_000,
    ...(orders.instance !== undefined && { instance: orders.instance }),
  }),
  to: [orders.to],
  message: { codec: bytesCodec },
  failure: { deadLetter: orders.dead, delayMs: orders.delayMs, breaker: false },
  batch: { sizeMax: orders.batchMax },
  map({ message, envelope }) {
    const text = message.toString()
    if (text.endsWith('7')) return reject('a seven')
    if (text.endsWith('3') && !failed.has(text)) {
      failed.add(text)
      throw new Error('once')
    }
    const partition = Number(envelope.position!.split('/').at(-1)!.split('@')[0])
    return [{ topic: orders.to, partition, value: message }]
  },
})

const log = { debug() {}, info() {}, warn: say, error: say }
const reach = orders.dieAt && dieAt(orders.dieAt.point, orders.dieAt)
const running = await runTransform(transform, {
  kafkaBootstrap: orders.bootstrap,
  transactionTimeoutMs: 6_000,
  env: realEnvironment({ log, ...(reach && { reach }) }),
})
process.once('SIGTERM', () => void running.drain().then(() => process.exit(0)))
process.stdout.write('started\n')
setInterval(() => process.stdout.write(`${running.tally.committed}\n`), 50)

function say(message: string, fields: unknown): void {
  process.stderr.write(`${message} ${JSON.stringify(fields)}\n`)
}
