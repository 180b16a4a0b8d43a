import { publish } from 'onceward/postgres'
import type { PublisherFactory } from 'onceward/testing'
import { inKeyOrder } from '../../src/effects/publish/in-key-order.ts'
import { type Database, postgresSource } from './postgres.ts'

/** `publish` of the queue, one statement for each message, in the order of keys that the relay keeps. */
export function postgresPublisher(database: Database): PublisherFactory {
  return {
    unavailable: database.unavailable,
    without: {
      'size limit': 'a row takes 1 GB, which no test sends',
      'lost connection': 'the statement is part of a transaction of the caller, who sees its connection end',
    },
    async create() {
      const destination = await postgresSource(database).create({ keyOrder: true })
      const queue = destination.source.name.split(' ').at(-1)!
      let closed = false
      return {
        publisher: inKeyOrder({
          publish: messages =>
            Promise.all(
              messages.map(async ({ queue: name, ...message }) => {
                if (closed) return new Error('the publisher is closed')
                const sent = publish(database.outside, name, [message])
                return sent.then(
                  () => 'confirmed' as const,
                  (error: Error) => error,
                )
              }),
            ),
          close: async () => {
            closed = true
          },
        }),
        destination,
        place: { exchange: null, queue },
        unknown: { exchange: null, queue: `${queue}.none` },
        close: async () => {},
      }
    },
  }
}
