import { ConsumerProcess, realEnvironment, type Source, type SourceDeclaration } from 'onceward'
import { createKafkaSource, topic } from 'onceward/kafka'
import { createPool, createPostgresStore } from 'onceward/postgres'
import { createStreamSource, stream } from 'onceward/rabbitmq-stream'
import type { Place } from '../../place.ts'
import { type OpenContender, startClock, type Task } from '../contender.ts'
import { applied, defineIncrements, type IncrementOptions } from '../onceward.ts'

type OpenLog = (
  place: Place,
  task: Pick<Task, 'queue' | 'group'>,
) => { readonly declaration: SourceDeclaration; readonly source: Source }

export const openOncewardTopic = (options: IncrementOptions) => open(options, topicSource)
export const openOncewardStream = (options: IncrementOptions) => open(options, streamSource)

export const topicSource: OpenLog = (place, { queue, group }) => {
  const declaration = topic(queue, { group, start: 'earliest' })
  return { declaration, source: createKafkaSource(declaration, { bootstrap: place.kafkaBootstrap! }) }
}

const streamSource: OpenLog = (place, { queue, group }) => {
  const declaration = stream(queue, { group, start: 'first' })
  return { declaration, source: createStreamSource(declaration, { url: place.streamUrl! }) }
}

function open(options: IncrementOptions, openLog: OpenLog): OpenContender {
  return async place => {
    const pool = createPool(place.databaseUrl)
    const store = createPostgresStore({ pool })
    return async task => {
      const { declaration, source } = openLog(place, task)
      const { watched, assigned } = watchAssignment(source)
      const consumer = defineIncrements(options, declaration)
      const env = realEnvironment()
      const process = new ConsumerProcess({ consumer, source: watched, store, env, instance: 'bench' })
      await process.start()
      await Promise.race([assigned, process.finished])
      const seconds = startClock()
      await applied(process, task.load.count)
      const took = seconds()
      await process.drain()
      return took
    }
  }
}

/**
 * Joining a group takes as long as the broker wants, and the hand-written loops join none: the clock starts
 * when the partitions are ours, and nothing is delivered before.
 */
function watchAssignment(source: Source): { watched: Source; assigned: Promise<void> } {
  const { promise: assigned, resolve } = Promise.withResolvers<void>()
  const watched: Source = {
    ...source,
    async open(options) {
      const subscription = await source.open({
        ...options,
        onEvent: event => {
          if (event.kind === 'assigned') resolve()
          options.onEvent(event)
        },
      })
      const receive = subscription.receive.bind(subscription)
      return Object.assign(subscription, {
        receive: async (max: number) => {
          await assigned
          return receive(max)
        },
      })
    },
  }
  return { watched, assigned }
}
