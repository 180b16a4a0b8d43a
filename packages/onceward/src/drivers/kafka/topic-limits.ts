import type { KafkaConnections } from './client/connections.ts'
import { answerOf, KafkaError, troubleOfCode } from './client/kafka-error.ts'
import { describeConfigsV4 } from './client/wire.ts'

const topicResource = 2

/**
 * The largest batch that each topic accepts, including the broker's own limit; an error for a topic that the
 * cluster does not describe. Needs the DescribeConfigs permission on the topic. Rejects when no broker
 * answers.
 */
export async function readTopicLimits(
  connections: KafkaConnections,
  topics: readonly string[],
): Promise<ReadonlyMap<string, number | Error>> {
  const [broker] = await connections.brokers()
  const connection = await connections.connect('meta', broker!)
  const asked = topics.map(resourceName => ({
    resourceType: topicResource,
    resourceName,
    configurationKeys: ['max.message.bytes'],
  }))
  const { results } = await answerOf(describeConfigsV4.api.async(connection, asked as never, false, false))
  return new Map(
    results.map(({ resourceName, errorCode, errorMessage, configs }) => {
      const bytes = Number(configs[0]?.value ?? Number.NaN)
      const trouble = troubleOfCode(errorCode === 0 ? -1 : errorCode, errorMessage)
      return [resourceName, bytes > 0 ? bytes : new KafkaError(trouble, `topic ${resourceName}`)]
    }),
  )
}
