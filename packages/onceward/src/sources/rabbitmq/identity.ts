import type { BrokerIdentity, BrokerMarks } from '../../contracts/source.ts'
import { addressOf, virtualHostOf } from './address.ts'
import { type Connection, withChannel } from './connection.ts'

/** Which cluster and virtual host a connection reached. A broker that announces no cluster is told by its address. */
export function identityOf(connection: Connection, url: string): BrokerIdentity {
  const cluster = connection.cluster ?? addressOf(url).split('/')[0]!
  return { kind: 'rabbitmq', cluster, virtualHost: virtualHostOf(url), marks: marksOf(connection) }
}

/** Exchanges that nobody publishes to: internal, durable, and known to every node. A user without the right to declare one goes without. */
function marksOf(connection: Connection): BrokerMarks {
  return {
    has: name =>
      withChannel(connection, channel => channel.checkExchange(name)).then(
        () => true,
        error => refused(error, 404),
      ),
    put: name =>
      withChannel(connection, channel =>
        channel.assertExchange(name, 'fanout', { durable: true, internal: true }),
      ).then(
        () => true,
        error => refused(error, 403),
      ),
  }
}

function refused(error: unknown, code: number): false {
  if ((error as { code?: unknown } | null)?.code === code) return false
  throw error
}
