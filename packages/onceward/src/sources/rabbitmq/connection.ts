import { type Channel, type ChannelModel, connect, credentials } from 'amqplib'
import { errorText, OncewardError } from '../../errors.ts'
import { readTls } from '../../tls/broker-tls.ts'
import { speaksTls } from '../../tls/speaks-tls.ts'
import { tlsRefusal } from '../../tls/tls-refusal.ts'
import { splitTls, type TlsUrl } from '../../tls/tls-url.ts'
import { type FrameReader, readHeadersOurselves } from './read-headers.ts'

/** One connection, with the two things the client does not give: why it ended, and an end that cannot hang. */
export interface Connection {
  readonly model: ChannelModel
  readonly brokerVersion: string
  /** What the broker calls its cluster; null where it does not say. */
  readonly cluster: string | null
  /** What went wrong with it, as soon as it is known; null while nothing did. */
  readonly trouble: string | null
  /** Resolves once, with the reason, however it ended. */
  readonly ended: Promise<string>
  /** Closes politely, and cuts the socket when the broker does not answer in time. Never rejects. */
  close(timeoutMs: number): Promise<void>
  /** Cuts the socket now. */
  destroy(): void
}

const handshakeTimeoutMs = 5_000
const heartbeatSeconds = 10
const lingerMs = 1_000

export async function openConnection(url: string, purpose: string): Promise<Connection> {
  const model = await connectModel(splitTls(url, placeOf(url)), purpose)
  readHeadersOurselves(model.connection as unknown as FrameReader)
  const ended = Promise.withResolvers<string>()
  let reason: string | null = null
  model.on('error', error => {
    reason ??= error.message
  })
  model.on('close', error => ended.resolve(reason ?? error?.message ?? 'closed by this process'))
  // With an error, because that is the only end of a socket the client notices at once.
  const destroy = () => socketOf(model)?.destroy(new Error('cut by this process'))
  // The client merely ends a socket whose heartbeats stopped; the peer never answers that, so it would linger.
  void ended.promise.then(() => setTimeout(destroy, lingerMs).unref())
  return {
    model,
    brokerVersion: model.connection.serverProperties.version,
    cluster: clusterOf(model.connection.serverProperties),
    get trouble() {
      return reason
    },
    ended: ended.promise,
    destroy,
    close: async timeoutMs => {
      if (!(await within(timeoutMs, model.close()))) destroy()
    },
  }
}

async function connectModel({ url, tls, external }: TlsUrl, purpose: string): Promise<ChannelModel> {
  const encrypted = url.startsWith('amqps:')
  const options = {
    noDelay: true,
    keepAlive: true,
    timeout: handshakeTimeoutMs,
    clientProperties: { connection_name: `onceward ${purpose}` },
    ...(encrypted && readTls(tls, placeOf(url))),
    ...(external && { credentials: credentials.external() }),
  }
  try {
    return await connect(withHeartbeat(url), options)
  } catch (error) {
    const why = encrypted ? tlsRefusal(error) : await needsTls(url, error)
    throw why === null ? error : tlsError(url, why, error)
  }
}

/** A TLS listener hangs up on those who speak AMQP at once, which the client reports as a broken handshake. */
async function needsTls(url: string, error: unknown): Promise<string | null> {
  const brokeOff =
    /handshake|abruptly|ECONNRESET|Invalid frame|Expected (protocol|ConnectionStart)|Unexpected/i
  if (!brokeOff.test(errorText(error)) || refusal(error, '') !== null) return null
  const { hostname, port } = new URL(url)
  const host = hostname.replace(/^\[|\]$/g, '')
  const isTls = await speaksTls({ host, port: port === '' ? 5672 : Number(port) }, handshakeTimeoutMs)
  return isTls ? 'this port speaks TLS only, and our address does not. Begin the address with amqps://' : null
}

function tlsError(url: string, why: string, cause: unknown): OncewardError {
  return new OncewardError(
    'configuration',
    `${placeOf(url)}: ${why}. Nothing was consumed, published or settled.`,
    { cause, details: { tls: true } },
  )
}

/** Without the login. */
function placeOf(url: string): string {
  return `RabbitMQ at ${new URL(url).host}`
}

function clusterOf(properties: object): string | null {
  const { cluster_name: name } = properties as { cluster_name?: unknown }
  return typeof name === 'string' && name !== '' ? name : null
}

/** A channel of its own for `work`, so that a refusal (which closes the channel) costs nothing else. */
export async function withChannel<T>(
  { model }: Connection,
  work: (channel: Channel) => Promise<T>,
): Promise<T> {
  const channel = await model.createChannel()
  channel.on('error', () => {})
  try {
    return await work(channel)
  } finally {
    await channel.close().catch(() => {})
  }
}

/** True when `work` settled, either way, in time. Never rejects. */
export async function within(timeoutMs: number, work: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<boolean>(resolve => {
    timer = setTimeout(resolve, timeoutMs, false)
  })
  const settled = work.then(
    () => true,
    () => true,
  )
  return Promise.race([settled, late]).finally(() => clearTimeout(timer))
}

/** Full jitter between 50 ms and 5 s. */
export function reconnectDelayMs(failures: number): number {
  return Math.floor(50 + Math.random() * Math.min(5_000, 100 * 2 ** Math.min(failures, 6)))
}

/**
 * The configuration error behind a failed connect, or null when trying again may help. The client keeps no
 * code for refusals during the handshake, only their text, and for a missing virtual host not even that.
 */
export function refusal(error: unknown, purpose: string): OncewardError | null {
  if (error instanceof OncewardError) return error
  const text = errorText(error)
  if (/\b403 \(ACCESS.REFUSED\)/i.test(text) || /SASL mechanism .* is not provided/.test(text)) {
    return new OncewardError(
      'configuration',
      `${purpose}: RabbitMQ refused the user name or password, or the user may not do this. Nothing was consumed or settled. Check the URL and the user's permissions on the virtual host. The broker said: ${text}`,
      { cause: error },
    )
  }
  if (/Expected ConnectionOpenOk; got <ConnectionClose/.test(text)) {
    return new OncewardError(
      'configuration',
      `${purpose}: RabbitMQ accepted the password but closed the connection when the virtual host was opened: it does not exist, or this user may not enter it. Nothing was consumed or settled. Check the path of the URL (/%2F is the default one).`,
      { cause: error },
    )
  }
  return null
}

function withHeartbeat(url: string): string {
  const parsed = new URL(url)
  if (!parsed.searchParams.has('heartbeat')) parsed.searchParams.set('heartbeat', String(heartbeatSeconds))
  return parsed.href
}

function socketOf(model: ChannelModel): { destroy(error: Error): void } | undefined {
  return (model.connection as { stream?: { destroy(error: Error): void } }).stream
}
