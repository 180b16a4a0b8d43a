import { type Client, connect } from 'rabbitmq-stream-js-client'
import { bodiesOf } from '../workload.ts'
import type { LogBroker } from './filled-log.ts'

/** Streams of a run: one partition each, plain entries, no sub-batches. */
export function openStreamLogs(url: string): LogBroker {
  let opening: Promise<Client> | null = null
  const client = () => {
    opening ??= connectStreams(url)
    return opening
  }
  return {
    async fill(stream, _partitions, load) {
      await (await client()).createStream({ stream, arguments: {} })
      await publishAll(await client(), stream, bodiesOf(load))
    },
    async committed(stream, group) {
      const last = await (await client()).queryOffset({ reference: group, stream })
      return Number(last) + 1
    },
    delete: async stream => void (await (await client()).deleteStream({ stream })),
    close: async () => void (opening === null || (await (await opening).close())),
  }
}

export async function connectStreams(url: string): Promise<Client> {
  const { hostname, port, username, password } = new URL(url)
  return connect({ hostname, port: Number(port), username, password, vhost: '/' })
}

async function publishAll(client: Client, stream: string, bodies: Iterable<Buffer>): Promise<void> {
  const publisher = await client.declarePublisher({ stream, maxChunkLength: 1_000 })
  const done = Promise.withResolvers<void>()
  let sent = 0
  let all = false
  let confirmed = 0
  publisher.on('publish_confirm', (error, ids) => {
    if (error !== null) return done.reject(new Error(`the stream refused a message with ${error}`))
    confirmed += ids.length
    if (all && confirmed === sent) done.resolve()
  })
  for (const body of bodies) {
    await publisher.send(body)
    sent++
  }
  all = true
  await publisher.flush()
  if (confirmed === sent) done.resolve()
  await done.promise
  await publisher.close()
}
