import { fork } from 'node:child_process'
import { once } from 'node:events'
import { ensureTopic } from 'onceward/kafka'
import { KafkaConnections } from '../../packages/onceward/src/drivers/kafka/client/connections.ts'
import { readTopic } from '../../packages/onceward/test/kafka/read-topic.ts'
import { evenPartitions } from '../logs/partition-of.ts'
import { median } from '../median.ts'
import type { Options } from '../options.ts'
import type { PreparedPlace } from '../place.ts'
import { type TransformTask, transformContenders } from './contenders.ts'

export interface TransformRates {
  readonly rates: readonly { readonly name: string; readonly all: number[]; readonly cpuMicros: number[] }[]
  /** Onceward's median by the one of the faster loop by hand. */
  readonly ratio: number
}

/** One topic into another, by transactions. Every output is read back: each once for committed readers. */
export async function measureTransform(
  place: PreparedPlace,
  { rounds, logCount }: Pick<Options, 'rounds' | 'logCount'>,
  say: (line: string) => void,
): Promise<TransformRates> {
  const names = Object.keys(transformContenders)
  const rates = names.map(name => ({ name, all: [] as number[], cpuMicros: [] as number[] }))
  for (let round = 0; round <= rounds; round++) {
    const order = round % 2 === 0 ? rates : rates.toReversed()
    for (const { name, all, cpuMicros } of order) {
      const load = { ids: 'ordered', round, count: logCount } as const
      const { queue, group } = await place.logs.kafka!.prepare(evenPartitions, load, name.toLowerCase())
      const to = `${group}.out`
      const bootstrap = place.kafkaBootstrap!
      await ensureTopic({ bootstrap }, to, { partitions: evenPartitions, replicationFactor: 1 })
      const spent = await inProcess(name, { bootstrap, from: queue, to, group, count: logCount })
      await verify(bootstrap, to, logCount, name)
      const rate = logCount / spent.seconds
      say(`round ${round}: ${name} ${Math.round(rate)}/s`)
      if (round === 0) continue // warms up the broker
      all.push(rate)
      cpuMicros.push((spent.cpuSeconds * 1e6) / logCount)
    }
    await place.logs.kafka!.deleteBefore(round)
  }
  const medians = rates.map(({ all }) => median(all))
  return { rates, ratio: medians.at(-1)! / Math.max(...medians.slice(0, -1)) }
}

async function inProcess(
  name: string,
  task: TransformTask,
): Promise<{ readonly seconds: number; readonly cpuSeconds: number }> {
  const child = fork(new URL('process.ts', import.meta.url), [name, JSON.stringify(task)], {
    execArgv: ['--conditions=@onceward/source'],
  })
  const failed = once(child, 'exit').then(([code]) => {
    throw new Error(`${name} ended with ${code} before its result`)
  })
  failed.catch(() => {})
  const [spent] = await Promise.race([once(child, 'message'), failed])
  return spent
}

async function verify(bootstrap: string, topic: string, count: number, who: string): Promise<void> {
  const connections = new KafkaConnections({ bootstrap })
  try {
    const records = await readTopic(connections, topic, 'committed')
    const ids = new Set(records.map(({ value }) => (JSON.parse(value!) as { id: string }).id))
    if (records.length !== count || ids.size !== count)
      throw new Error(`${who}: ${records.length} outputs with ${ids.size} ids of ${count}`)
  } finally {
    await connections.close()
  }
}
