import { type Channel, type ChannelModel, connect, credentials } from 'amqplib'
import { errorText, OncewardError } from '../../errors.ts'
import { everyUrl } from '../../ports/broker-url.ts'
import { timingOf } from '../../ports/connection-timing.ts'
import { avoidHost, tryHosts } from '../log/try-hosts.ts'
import { readTls } from '../tls/broker-tls.ts'
import { speaksTls } from '../tls/speaks-tls.ts'
import { tlsRefusal } from '../tls/tls-refusal.ts'
import { splitTls, type TlsUrl } from '../tls/tls-url.ts'
import { type AmqpFrameReader, readHeadersOurselves } from './read-headers.ts'

/**
 * One connection, with two features the client library lacks: the reason of its end, and an end that cannot
 * hang.
 */
export interface Connection {
  readonly model: ChannelModel
  /** The URL of the host that answered. */
  readonly url: string
  readonly brokerVersion: string
  /** The cluster name that the broker announces; null when it announces none. */
  readonly cluster: string | null
  /** The first error, as soon as it is known; null before. */
  readonly trouble: string | null
  /** Resolves once, with the reason, however it ended. */
  readonly ended: Promise<string>
  /** Closes gracefully, and destroys the socket when the broker does not answer in time. Never rejects. */
  close(timeoutMs: number): Promise<void>
  /** Destroys the socket now. */
  destroy(): void
}

const lingerMs = 1_000

/**
 * Connects to any host of the address. `signal` aborts an attempt in progress; it does not affect an open
 * connection.
 */
export function openConnection(url: string, purpose: string, signal?: AbortSignal): Promise<Connection> {
  return tryHosts({
    hosts: everyUrl(url),
    nameOf: one => new URL(one).host,
    open: one => openOne(one, purpose, signal),
    isRefusal: error => refusal(error, purpose) !== null,
    signal,
  })
}

async function openOne(url: string, purpose: string, signal: AbortSignal | undefined): Promise<Connection> {
  const model = await connectModel(splitTls(url, placeOf(url)), purpose, signal)
  readHeadersOurselves(model.connection as unknown as AmqpFrameReader)
  const ended = Promise.withResolvers<string>()
  let reason: string | null = null
  let cut = false
  model.on('error', error => {
    reason ??= error.message
  })
  model.on('close', error => {
    if (!cut && (reason !== null || error !== undefined)) avoidHost(new URL(url).host)
    ended.resolve(reason ?? error?.message ?? 'closed by this process')
  })
  // With an error, because the client library notices no other end of a socket at once.
  const destroy = () => {
    cut = true
    socketOf(model)?.destroy(new Error('cut by this process'))
  }
  // The client library only ends a socket whose heartbeats stopped. The peer never answers that, so the
  // socket would linger.
  void ended.promise.then(() => setTimeout(destroy, lingerMs).unref())
  return {
    model,
    url,
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

async function connectModel(
  { url, tls, external }: TlsUrl,
  purpose: string,
  signal: AbortSignal | undefined,
): Promise<ChannelModel> {
  const encrypted = url.startsWith('amqps:')
  const { heartbeatS, connectMs } = timingOf(url, placeOf(url))
  const giveUp = new AbortController()
  const abort = () => giveUp.abort()
  signal?.addEventListener('abort', abort)
  if (signal?.aborted) abort()
  const options = {
    noDelay: true,
    keepAlive: true,
    timeout: connectMs,
    clientProperties: { connection_name: `onceward ${purpose}` },
    signal: giveUp.signal,
    ...(encrypted && readTls(tls, placeOf(url))),
    ...(external && { credentials: credentials.external() }),
  }
  try {
    return await connect(withHeartbeat(url, heartbeatS), options)
  } catch (error) {
    if (signal?.aborted) throw error
    const why = encrypted ? tlsRefusal(error) : await needsTls(url, error, connectMs)
    throw why === null ? error : tlsError(url, why, error)
  } finally {
    signal?.removeEventListener('abort', abort)
  }
}

/**
 * A TLS listener closes a plain AMQP connection at once, which the client library reports as a failed
 * handshake.
 */
async function needsTls(url: string, error: unknown, timeoutMs: number): Promise<string | null> {
  const brokeOff =
    /handshake|abruptly|ECONNRESET|Invalid frame|Expected (protocol|ConnectionStart)|Unexpected/i
  if (!brokeOff.test(errorText(error)) || refusal(error, '') !== null) return null
  const { hostname, port } = new URL(url)
  const host = hostname.replace(/^\[|\]$/g, '')
  const isTls = await speaksTls({ host, port: port === '' ? 5672 : Number(port) }, timeoutMs)
  return isTls
    ? 'this port requires TLS, but the address does not use it. Begin the address with amqps://'
    : null
}

function tlsError(url: string, why: string, cause: unknown): OncewardError {
  return new OncewardError(
    'configuration',
    `${placeOf(url)}: ${why}. Nothing was consumed, published or settled.`,
    { cause, details: { tls: true } },
  )
}

/** The address without the login. */
function placeOf(url: string): string {
  return `RabbitMQ at ${new URL(url).host}`
}

function clusterOf(properties: object): string | null {
  const { cluster_name: name } = properties as { cluster_name?: unknown }
  return typeof name === 'string' && name !== '' ? name : null
}

/** Runs `work` on a separate channel, so that a refusal (which closes the channel) affects nothing else. */
export async function withChannel<T>(
  { model, ended }: Connection,
  work: (channel: Channel) => Promise<T>,
): Promise<T> {
  const channel = await model.createChannel()
  channel.on('error', () => {})
  try {
    return await work(channel)
  } finally {
    // The client library never settles a close when the connection ends first.
    await Promise.race([channel.close().catch(() => {}), ended])
  }
}

/** True when `work` settled in time, resolved or rejected. Never rejects. */
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
 * The configuration error behind a failed connect, or null when a retry may help. For refusals during the
 * handshake the client library keeps only the text, and for a missing virtual host not even that.
 */
export function refusal(error: unknown, purpose: string): OncewardError | null {
  if (error instanceof OncewardError) return error
  const text = errorText(error)
  if (/\b403 \(ACCESS.REFUSED\)/i.test(text) || /SASL mechanism .* is not provided/.test(text)) {
    return new OncewardError(
      'configuration',
      `${purpose}: RabbitMQ refused the user name or password, or the user lacks the permission. Nothing was consumed or settled. Check the URL and the user's permissions on the virtual host. The broker said: ${text}`,
      { cause: error },
    )
  }
  if (/Expected ConnectionOpenOk; got <ConnectionClose/.test(text)) {
    return new OncewardError(
      'configuration',
      `${purpose}: RabbitMQ accepted the password but closed the connection when the virtual host was opened: it does not exist, or this user has no access to it. Nothing was consumed or settled. Check the path of the URL (/%2F is the default one).`,
      { cause: error },
    )
  }
  return null
}

function withHeartbeat(url: string, heartbeatS: number): string {
  const parsed = new URL(url)
  parsed.searchParams.set('heartbeat', String(heartbeatS))
  return parsed.href
}

function socketOf(model: ChannelModel): { destroy(error: Error): void } | undefined {
  return (model.connection as { stream?: { destroy(error: Error): void } }).stream
}
