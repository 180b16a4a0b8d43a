import { readAddress } from '../../src/drivers/rabbitmq-stream/address.ts'
import { eachRecord, readChunk } from '../../src/drivers/rabbitmq-stream/wire/chunk.ts'
import {
  queryOffset,
  queryStats,
  subscribe,
  unsubscribe,
} from '../../src/drivers/rabbitmq-stream/wire/commands.ts'
import type { StreamConnection } from '../../src/drivers/rabbitmq-stream/wire/connection.ts'
import { openLink } from '../../src/drivers/rabbitmq-stream/wire/handshake.ts'

/** A connection that only looks. */
export async function openWatch(url: string): Promise<StreamConnection> {
  return (await openLink(readAddress(url, 'a test'), 'watches')).connection
}

/** Where a group reads on, as the broker knows it. */
export async function positionOf(
  connection: StreamConnection,
  group: string,
  stream: string,
): Promise<string | null> {
  const offset = await queryOffset(connection, group, stream)
  return offset === null ? null : String(offset + 1n)
}

/**
 * Records at or after an offset. Reads to the end: what is there at once is sent before the next command is
 * answered.
 */
export async function countFrom(connection: StreamConnection, stream: string, from: number): Promise<number> {
  let count = 0
  const id = await subscribe(
    connection,
    { stream, from: 'first', credit: 60_000 },
    {
      onChunk: (frame, at) => {
        const chunk = readChunk(frame, at)
        if (chunk !== null) eachRecord(chunk, from, { onRecord: () => count++, onBroken: () => {} })
      },
      onActive: (_active, answer) => answer(null),
    },
  )
  await queryStats(connection, stream)
  await unsubscribe(connection, id)
  return count
}
