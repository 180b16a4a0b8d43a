import { setTimeout as sleep } from 'node:timers/promises'
import { Admin, Producer } from '@platformatic/kafka'
import { bodyOf, incrementsOf, type Load } from '../workload.ts'
import type { LogBroker } from './filled-log.ts'
import { partitionOf } from './partition-of.ts'

/** One partition takes a batch of at most 1 MiB. */
const recordsPerSend = 2_000

/** Topics of a run: written and looked at with the client's own classes, which no contender uses. */
export function openKafkaLogs(bootstrap: string): LogBroker {
  const options = { clientId: 'onceward-bench', bootstrapBrokers: bootstrap.split(',') }
  const admin = new Admin({ ...options, retries: 10 })
  return {
    async fill(topic, partitions, load) {
      await admin.createTopics({ topics: [topic], partitions, replicas: 1 })
      await untilLed(admin, topic, partitions)
      // No retries: the part of a send that had been taken would be there twice.
      const producer = new Producer({ ...options, retries: 0 })
      try {
        for (const messages of sends(topic, partitions, load)) await producer.send({ messages, acks: -1 })
      } finally {
        await producer.close()
      }
    },
    async committed(topic, group) {
      const found = await admin.listConsumerGroupOffsets({ groups: [group] })
      const partitions = found[0]?.topics.find(({ name }) => name === topic)?.partitions ?? []
      return partitions.reduce((sum, { committedOffset }) => sum + Math.max(0, Number(committedOffset)), 0)
    },
    async delete(topic, groups) {
      await admin.deleteGroups({ groups: [...groups] }).catch(() => {})
      await admin.deleteTopics({ topics: [topic] })
    },
    async close() {
      await sleep(100)
      await admin.close()
    },
  }
}

/** A new topic is announced before its partitions can be written to. */
async function untilLed(admin: Admin, topic: string, partitions: number): Promise<void> {
  const wanted = Array.from({ length: partitions }, (_, partitionIndex) => ({
    partitionIndex,
    timestamp: -1n,
  }))
  for (let tries = 0; tries < 100; tries++) {
    const found = await admin.listOffsets({ topics: [{ name: topic, partitions: wanted }] }).catch(() => null)
    if (found?.[0]?.partitions.length === partitions) return
    await sleep(50)
  }
  throw new Error(`${topic} cannot be written to`)
}

function* sends(topic: string, partitions: number, load: Load) {
  let messages = []
  for (const increment of incrementsOf(load)) {
    const { key } = increment
    const partition = partitionOf(key, partitions)
    messages.push({ topic, partition, key: Buffer.from(String(key)), value: bodyOf(increment) })
    if (messages.length < recordsPerSend) continue
    yield messages
    messages = []
  }
  if (messages.length > 0) yield messages
}
