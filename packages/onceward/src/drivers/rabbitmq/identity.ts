import type { BrokerIdentity, BrokerMarks } from '../../ports/source.ts'
import { addressOf, virtualHostOf } from './address.ts'
import { type Connection, openConnection, withChannel } from './connection.ts'

/**
 * The cluster and virtual host of a connection. A broker that announces no cluster is identified by its
 * address.
 */
export function identityOf(connection: Connection, url: string): BrokerIdentity {
  const cluster = connection.cluster ?? addressOf(url).split('/')[0]!
  return { kind: 'rabbitmq', cluster, virtualHost: virtualHostOf(url), marks: marksOf(connection) }
}

/**
 * Marks are exchanges that no publisher uses: internal, durable, and known to every node. A user without the
 * permission to declare one has no mark, and neither has one at its limit of exchanges. Checking for one
 * needs no permission up to 4.2, and any permission on the exchange since 4.3.
 */
function marksOf(connection: Connection): BrokerMarks {
  return {
    has: name => hasExchange(connection, name),
    put: name =>
      withChannel(connection, channel =>
        channel.assertExchange(name, 'fanout', { durable: true, internal: true }),
      ).then(
        () => true,
        error => answer(error, { 403: false, 406: false }),
      ),
    hasIn: (virtualHost, name) => hasExchangeIn(connection.url, virtualHost, name),
  }
}

function hasExchange(connection: Connection, name: string): Promise<boolean | null> {
  return withChannel(connection, channel => channel.checkExchange(name)).then(
    () => true,
    error => answer(error, { 403: null, 404: false }),
  )
}

async function hasExchangeIn(url: string, virtualHost: string, name: string): Promise<boolean | null> {
  const elsewhere = new URL(url)
  elsewhere.pathname = `/${encodeURIComponent(virtualHost)}`
  try {
    const connection = await openConnection(elsewhere.href, 'compares clusters')
    return await hasExchange(connection, name).finally(() => connection.close(1_000))
  } catch {
    return null
  }
}

function answer<T>(error: unknown, codes: Readonly<Record<number, T>>): T {
  const { code } = Object(error) as { code?: number }
  if (code !== undefined && code in codes) return codes[code]!
  throw error
}
