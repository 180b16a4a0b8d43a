import { randomBytes } from 'node:crypto'
import { OncewardError } from '../../errors.ts'
import { queryOffset, storeOffset } from './wire/commands.ts'
import type { StreamConnection } from './wire/connection.ts'

/**
 * Which life of a stream this is. RabbitMQ gives streams no id that a client can see, and one that was deleted and made again looks like the
 * old one once it is long enough. But it keeps a number per reference inside the stream, and loses it with the stream. So each group leaves a
 * random number there under a reference of its own: as large as only an offset after millions of years could be, because retention drops
 * stored offsets below the first one.
 */
export async function readLife(
  connection: StreamConnection,
  group: string,
  stream: string,
): Promise<string | null> {
  const mark = await queryOffset(connection, lifeOf(group), stream)
  return mark === null ? null : mark.toString(16)
}

/** Leaves a mark and reads it back; what is there is what counts, whoever left it. */
export async function markLife(connection: StreamConnection, group: string, stream: string): Promise<string> {
  const mark = (randomBytes(8).readBigUInt64BE() >> 2n) | (1n << 62n)
  storeOffset(connection, lifeOf(group), stream, mark)
  const life = await readLife(connection, group, stream)
  if (life === null) {
    throw new OncewardError(
      'configuration',
      `The broker keeps no offsets of this user in stream ${stream}, which a consumer's position needs. Nothing was consumed. Give the user write permission on the stream.`,
    )
  }
  return life
}

function lifeOf(group: string): string {
  return `${group}.life`
}
