import type { BrokerIdentity, BrokerMarks } from '../../contracts/source.ts'
import type { StreamAddress } from './address.ts'
import { createEmptySuperStream, queryPartitions } from './wire/commands.ts'
import type { StreamConnection } from './wire/connection.ts'
import { code, StreamRefusal } from './wire/frame.ts'
import type { StreamLink } from './wire/handshake.ts'

/** Which cluster and virtual host a connection reached, as queues tell it. */
export function identityOf({ cluster, connection }: StreamLink, { vhost }: StreamAddress): BrokerIdentity {
  return { kind: 'rabbitmq', cluster: cluster!, virtualHost: vhost, marks: marksOf(connection) }
}

/** A super stream is an exchange: asked for its partitions, the broker says whether there is one. One without partitions is nothing else. */
function marksOf(connection: StreamConnection): BrokerMarks {
  return {
    has: name =>
      queryPartitions(connection, name).then(
        () => true,
        error => answer(error, { [code.streamDoesNotExist]: false, [code.accessRefused]: null }),
      ),
    put: name =>
      createEmptySuperStream(connection, name).then(
        () => true,
        error => answer(error, { [code.accessRefused]: false }),
      ),
  }
}

function answer<T>(error: unknown, codes: Readonly<Record<number, T>>): T {
  if (error instanceof StreamRefusal && error.code in codes) return codes[error.code]!
  throw error
}
