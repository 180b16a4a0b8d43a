import amqp, { type ChannelModel, type ConfirmChannel } from 'amqplib'
import type { PlannedMessage } from '../plan/messages.ts'
import type { Sender } from './sender.ts'

const confirmMs = 20_000

export async function rabbitmqSender(
  url: string,
  queueOf: (message: PlannedMessage) => string,
): Promise<Sender> {
  let open: { connection: ChannelModel; channel: ConfirmChannel } | null = null
  const connected = async () => {
    if (open !== null) return open.channel
    const connection = await amqp.connect(url, { timeout: 5_000 })
    connection.on('error', () => {})
    const channel = await connection.createConfirmChannel()
    channel.on('error', () => {})
    open = { connection, channel }
    return channel
  }
  const leave = () => {
    open?.connection.close().catch(() => {})
    open = null
  }
  return {
    async send(messages) {
      try {
        const channel = await connected()
        const confirmed = messages.map(
          message =>
            new Promise<void>((resolve, reject) => {
              const body = Buffer.from(message.body, 'base64')
              channel.sendToQueue(queueOf(message), body, { persistent: true, mandatory: true }, error =>
                error ? reject(error as Error) : resolve(),
              )
            }),
        )
        await Promise.race([Promise.all(confirmed), refuseAfter(confirmMs)])
      } catch (error) {
        leave()
        throw error
      }
    },
    abort: () => Promise.resolve(),
    close: async () => leave(),
  }
}

const refuseAfter = (ms: number) =>
  new Promise<never>((_, reject) => {
    setTimeout(() => reject(new Error(`no confirm within ${ms} ms`)), ms).unref()
  })
