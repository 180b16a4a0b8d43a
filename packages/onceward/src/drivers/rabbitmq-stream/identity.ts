import type { BrokerIdentity, BrokerMarks } from '../../ports/source.ts'
import type { StreamAddress } from './address.ts'
import { createEmptySuperStream, queryPartitions } from './wire/commands.ts'
import type { StreamConnection } from './wire/connection.ts'
import { code, StreamRefusal } from './wire/frame.ts'
import type { StreamLink } from './wire/handshake.ts'

/** Which cluster and virtual host a connection reached, as queues tell it. */
export function identityOf({ cluster, connection }: StreamLink, { vhost }: StreamAddress): BrokerIdentity {
  return { kind: 'rabbitmq', cluster: cluster!, virtualHost: vhost, marks: marksOf(connection) }
}

/**
 * A super stream is an exchange: asked for its partitions, the broker says whether there is one. One without
 * partitions is nothing else.
 */
function marksOf(connection: StreamConnection): BrokerMarks {
  return {
    has: name =>
      queryPartitions(connection, name).then(
        () => true,
        error => (refusalOf(error).code === code.streamDoesNotExist ? false : null),
      ),
    put: name =>
      createEmptySuperStream(connection, name).then(
        () => true,
        error => {
          refusalOf(error)
          return false
        },
      ),
  }
}

/**
 * Whatever the broker's reason, without a mark the name is compared. What broke the connection is no answer.
 */
function refusalOf(error: unknown): StreamRefusal {
  if (error instanceof StreamRefusal) return error
  throw error
}
