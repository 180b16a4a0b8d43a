import { connect } from 'amqplib'
import { letAcksArrive, type OpenContender, startClock } from './contender.ts'

/** The client alone: every delivery is acknowledged at once, nothing is read or written. */
export const openRawConsume: OpenContender = async place => {
  const connection = await connect(place.rabbitmqUrl!)
  return async ({ queue, load }) => {
    const channel = await connection.createChannel()
    await channel.prefetch(2_000)
    const done = Promise.withResolvers<void>()
    let left = load.count
    await channel.consume(queue, message => {
      channel.ack(message!)
      if (--left === 0) done.resolve()
    })
    const seconds = startClock()
    await done.promise
    const took = seconds()
    await letAcksArrive()
    await channel.close()
    return took
  }
}
