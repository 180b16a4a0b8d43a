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
 * One connection, with the two things the client does not give: why it ended, and an end that cannot hang.
 */
export interface Connection {
  readonly model: ChannelModel
  /** Of the host that answered. */
  readonly url: string
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

const lingerMs = 1_000

/**
 * Connects to any host of the address. `signal` gives up a try that is under way; it has no say over what is
 * open.
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
  // With an error, because that is the only end of a socket the client notices at once.
  const destroy = () => {
    cut = true
    socketOf(model)?.destroy(new Error('cut by this process'))
  }
  // The client merely ends a socket whose heartbeats stopped; the peer never answers that, so it would
  // linger.
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
 * A TLS listener hangs up on those who speak AMQP at once, which the client reports as a broken handshake.
 */
async function needsTls(url: string, error: unknown, timeoutMs: number): Promise<string | null> {
  const brokeOff =
    /handshake|abruptly|ECONNRESET|Invalid frame|Expected (protocol|ConnectionStart)|Unexpected/i
  if (!brokeOff.test(errorText(error)) || refusal(error, '') !== null) return null
  const { hostname, port } = new URL(url)
  const host = hostname.replace(/^\[|\]$/g, '')
  const isTls = await speaksTls({ host, port: port === '' ? 5672 : Number(port) }, timeoutMs)
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
  { model, ended }: Connection,
  work: (channel: Channel) => Promise<T>,
): Promise<T> {
  const channel = await model.createChannel()
  channel.on('error', () => {})
  try {
    return await work(channel)
  } finally {
    // The client never settles a close that the end of the connection overtakes.
    await Promise.race([channel.close().catch(() => {}), ended])
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

function withHeartbeat(url: string, heartbeatS: number): string {
  const parsed = new URL(url)
  parsed.searchParams.set('heartbeat', String(heartbeatS))
  return parsed.href
}

function socketOf(model: ChannelModel): { destroy(error: Error): void } | undefined {
  return (model.connection as { stream?: { destroy(error: Error): void } }).stream
}
