import { errorText, OncewardError } from '../../../errors.ts'
import type { ConnectionTiming } from '../../../ports/connection-timing.ts'
import { avoidHost, tryHosts } from '../../log/try-hosts.ts'
import { answersPlainly } from '../../tls/answers-plainly.ts'
import { speaksTls } from '../../tls/speaks-tls.ts'
import type { StreamAddress } from '../address.ts'
import { closedHere, StreamConnection } from './connection.ts'
import { code, command, type FrameReader, FrameWriter, StreamRefusal } from './frame.ts'

/** A connection that is ready for commands, with the broker's description of itself. */
export interface StreamLink {
  readonly connection: StreamConnection
  readonly brokerVersion: string
  /** The cluster name that the broker announces; null when it announces none. */
  readonly cluster: string | null
  /** The node's advertised address; it may differ from the dialled one. */
  readonly node: string
}

/**
 * Connects, authenticates and opens the virtual host. It checks the version before any request that an older
 * broker would not understand. Rejects with a `configuration` error when a retry cannot help.
 */
export async function openLink(
  address: StreamAddress,
  purpose: string,
  signal?: AbortSignal,
): Promise<StreamLink> {
  const connection = await StreamConnection.connect(address, address.timing.connectMs, signal).catch(
    async error => {
      throw (signal?.aborted ? null : await otherProtocol(error, address)) ?? error
    },
  )
  const giveUp = () => connection.destroy('aborted')
  signal?.addEventListener('abort', giveUp)
  try {
    const broker = await introduce(connection, purpose)
    const brokerVersion = broker.version ?? 'unknown'
    assertVersion(brokerVersion, address)
    await authenticate(connection, address)
    await tune(connection, address.timing)
    const opened = await open(connection, address)
    await exchangeVersions(connection)
    void connection.ended.then(reason => {
      if (reason !== closedHere) avoidHost(hostName(address))
    })
    return {
      connection,
      brokerVersion,
      cluster: broker.cluster_name ?? null,
      node: `${opened.advertised_host ?? address.host}:${opened.advertised_port ?? address.port}`,
    }
  } catch (error) {
    connection.destroy('the handshake failed')
    throw refusedHandshake(error, address) ?? (await otherProtocol(error, address)) ?? error
  } finally {
    signal?.removeEventListener('abort', giveUp)
  }
}

/** Connects to any host of the address. `signal` aborts an attempt in progress. */
export function openEntrance(
  address: StreamAddress,
  purpose: string,
  signal?: AbortSignal,
): Promise<StreamLink> {
  return tryHosts({
    hosts: address.hosts,
    nameOf: hostName,
    open: at => openLink({ ...address, ...at }, purpose, signal),
    isRefusal: error => error instanceof OncewardError,
    signal,
  })
}

const hostName = ({ host, port }: Pick<StreamAddress, 'host' | 'port'>) => `${host}:${port}`

function introduce(connection: StreamConnection, purpose: string): Promise<Record<string, string>> {
  return connection.request(
    command.peerProperties,
    'introduce',
    frame =>
      frame.texts({ product: 'Onceward', platform: 'Node.js', connection_name: `onceward ${purpose}` }),
    readTexts,
  )
}

/**
 * Single active consumers came with 3.11, the commands of super streams with 3.13; older versions are not
 * maintained.
 */
export function assertVersion(version: string, { host, port }: Pick<StreamAddress, 'host' | 'port'>): void {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major > 3 || (major === 3 && minor >= 13)) return
  throw new OncewardError(
    'configuration',
    `The broker at ${host}:${port} is RabbitMQ ${version}; streams need 3.13 or later. Nothing was consumed or settled. Upgrade the broker, or read a queue instead.`,
    { details: { version } },
  )
}

async function authenticate(
  connection: StreamConnection,
  { user, password, external }: StreamAddress,
): Promise<void> {
  await connection.request(
    command.saslHandshake,
    'ask for authentication',
    () => {},
    () => {},
  )
  await connection.request(
    command.saslAuthenticate,
    'authenticate',
    frame =>
      external
        ? frame.text('EXTERNAL').bytes(Buffer.alloc(0))
        : frame.text('PLAIN').bytes(Buffer.from(`\0${user}\0${password}`)),
    () => {},
  )
}

async function tune(connection: StreamConnection, { heartbeatS }: ConnectionTiming): Promise<void> {
  const asked = await connection.tuned
  const agreedS = asked.heartbeatS === 0 ? heartbeatS : Math.min(asked.heartbeatS, heartbeatS)
  connection.send(new FrameWriter(command.tune).u32(asked.frameMax).u32(agreedS))
  connection.keepAlive(agreedS)
}

function open(connection: StreamConnection, { vhost }: StreamAddress): Promise<Record<string, string>> {
  return connection.request(
    command.open,
    'open the virtual host',
    frame => frame.text(vhost),
    reader => (reader.at < reader.frame.length ? readTexts(reader) : {}),
  )
}

/** Needed only so that chunks carry the newest offset, by which lag is measured. */
function exchangeVersions(connection: StreamConnection): Promise<void> {
  return connection.request(
    command.exchangeVersions,
    'exchange versions',
    frame => frame.u32(1).u16(command.deliver).u16(1).u16(2),
    () => {},
  )
}

function readTexts(reader: FrameReader): Record<string, string> {
  return Object.fromEntries(reader.list(() => [reader.text(), reader.text()] as const))
}

/**
 * A TLS listener answers other protocols with an alert, which looks like an impossible frame, or closes the
 * connection. A plain listener closes the connection on TLS.
 */
async function otherProtocol(error: unknown, address: StreamAddress): Promise<OncewardError | null> {
  const { tls, timing } = address
  if (tls === null) {
    const broken = /not RabbitMQ's stream protocol|closed the connection|ECONNRESET/.test(errorText(error))
    if (!broken || !(await speaksTls(address, timing.connectMs))) return null
    return wrongPort(address, 'this port requires TLS, but the address does not use it', error)
  }
  const broken = /secure TLS connection|closed the connection|ECONNRESET|EPIPE/.test(errorText(error))
  if (!broken || !(await answersPlainly(address, peerProperties, timing.connectMs))) return null
  return wrongPort(address, 'this port does not speak TLS, but the address requires it', error)
}

/** Anonymous: the first request of any client. */
const peerProperties = new FrameWriter(command.peerProperties).u32(1).texts({}).end()

function wrongPort({ host, port, tls }: StreamAddress, why: string, cause: unknown): OncewardError {
  const begin =
    tls === null ? 'rabbitmq-stream+tls://' : 'rabbitmq-stream://, or use the port of the TLS listener'
  return new OncewardError(
    'configuration',
    `RabbitMQ streams at ${host}:${port}: ${why}. Nothing was consumed or settled. Begin the address with ${begin}.`,
    { cause, details: { tls: true } },
  )
}

function refusedHandshake(error: unknown, { host, port, user, vhost }: StreamAddress): OncewardError | null {
  if (!(error instanceof StreamRefusal)) return null
  const where = `RabbitMQ at ${host}:${port}`
  if (error.code === code.virtualHostAccess) {
    return new OncewardError(
      'configuration',
      `${where} refused user ${user} access to virtual host ${vhost}, or it does not exist. Nothing was consumed or settled. Check the path of the URL (none is the default one, /) and the user's permissions.`,
      { cause: error },
    )
  }
  const refused: readonly number[] = [7, code.authenticationFailure, 9, code.loopbackOnly, code.accessRefused]
  if (!refused.includes(error.code)) return null
  return new OncewardError(
    'configuration',
    `${where} refused user ${user}: ${error.message}. Nothing was consumed or settled. Check user and password in the URL.`,
    { cause: error },
  )
}
