import { contenders } from './contenders/contenders.ts'
import { measureLatency } from './observed/latency.ts'
import { measureMemory } from './observed/memory.ts'
import { type Options, readOptions } from './options.ts'
import { type PreparedPlace, preparePlace } from './place.ts'
import { reportLines } from './print-report.ts'
import { profileLines } from './profile-summary.ts'
import { jsonLine, type Results } from './report.ts'
import { measureRounds } from './rounds.ts'

const say = (line: string) => void process.stderr.write(`${line}\n`)

async function measure(place: PreparedPlace, options: Options): Promise<Results> {
  const { parts } = options
  const taking = contenders.filter(({ broker }) => parts.includes(broker))
  return {
    measured: taking.length === 0 ? [] : await measureRounds(place, taking, options, say),
    latency: parts.includes('latency') ? await measureLatency(place, options.latencySeconds) : null,
    memory: parts.includes('memory') ? await measureMemory(place, options.memoryCount) : null,
  }
}

async function main(): Promise<void> {
  const options = readOptions(process.argv.slice(2))
  const needsRabbitmq = options.parts.some(part => part !== 'postgres')
  const place = await preparePlace(needsRabbitmq ? ['postgres', 'rabbitmq'] : ['postgres'])
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => void place.drop().finally(() => process.exit(130)))
  }
  try {
    const results = await measure(place, options)
    console.log(options.json ? jsonLine(results) : reportLines(results).join('\n'))
    if (options.profileFolder !== null) for (const line of profileLines(options.profileFolder)) say(line)
  } finally {
    await place.drop()
  }
}

try {
  await main()
} catch (error) {
  say((error as Error).stack ?? String(error))
  process.exitCode = 1
}
