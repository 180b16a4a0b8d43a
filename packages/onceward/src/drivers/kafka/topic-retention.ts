import type { KafkaConnectionOptions } from './client/connection-options.ts'
import { KafkaConnections } from './client/connections.ts'
import { answerOf, KafkaError, toOncewardError, troubleOfCode } from './client/kafka-error.ts'
import { describeConfigsV4 } from './client/wire.ts'
import { recordRetentionMs } from './record-retention.ts'

const topicResource = 2
const names = ['retention.ms', 'segment.ms', 'cleanup.policy']

/** How long a record may stay readable, in milliseconds; Infinity when it is never deleted. */
export async function topicRetentionMs(options: KafkaConnectionOptions, topic: string): Promise<number> {
  const connections = new KafkaConnections(options)
  try {
    const [broker] = await connections.brokers()
    const connection = await connections.connect('meta', broker!)
    const resource = { resourceType: topicResource, resourceName: topic, configurationKeys: names } as const
    const { results } = await answerOf(describeConfigsV4.api.async(connection, [resource], false, false))
    const { errorCode, errorMessage, configs } = results[0]!
    if (errorCode !== 0) throw new KafkaError(troubleOfCode(errorCode, errorMessage), `topic ${topic}`)
    return recordRetentionMs(new Map(configs.map(({ name, value }) => [name, value ?? ''])))
  } catch (error) {
    throw toOncewardError(error, `Reading the retention of topic ${topic}`, 'Nothing was started.')
  } finally {
    await connections.close()
  }
}
