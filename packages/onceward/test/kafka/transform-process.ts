import { createKafkaTransform, type KafkaTransformOptions } from '../../src/drivers/kafka/transform.ts'

/**
 * A transform in a process of its own, to be killed and frozen: every record becomes itself, after a moment
 * of work.
 */
const options = JSON.parse(process.argv[2]!) as Omit<KafkaTransformOptions, 'map'> & {
  to: string
  workMs: number
}

const transform = createKafkaTransform({
  ...options,
  log: { debug() {}, info() {}, warn: say, error: say },
  map: async ({ key, value, partition }) => {
    if (options.workMs > 0) await new Promise(resolve => setTimeout(resolve, options.workMs))
    return [{ topic: options.to, key, value, partition }]
  },
})
await transform.start()
process.stdout.write('started\n')
setInterval(() => process.stdout.write(`${transform.tally.records}\n`), 50)

function say(message: string, fields: unknown): void {
  process.stderr.write(`${message} ${JSON.stringify(fields)}\n`)
}
