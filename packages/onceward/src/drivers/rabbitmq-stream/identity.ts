import type { BrokerIdentity, BrokerMarks } from '../../ports/source.ts'
import type { StreamAddress } from './address.ts'
import { createEmptySuperStream, queryPartitions } from './wire/commands.ts'
import type { StreamConnection } from './wire/connection.ts'
import { code, StreamRefusal } from './wire/frame.ts'
import type { StreamLink } from './wire/handshake.ts'

/** The cluster and virtual host of a connection, in the same form as for queues. */
export function identityOf({ cluster, connection }: StreamLink, { vhost }: StreamAddress): BrokerIdentity {
  return { kind: 'rabbitmq', cluster: cluster!, virtualHost: vhost, marks: marksOf(connection) }
}

/**
 * A super stream is an exchange: a query for its partitions shows whether it exists. A super stream without
 * partitions is an exchange only.
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

/** After any refusal there is no mark, and the name is compared. A connection failure is not an answer. */
function refusalOf(error: unknown): StreamRefusal {
  if (error instanceof StreamRefusal) return error
  throw error
}
