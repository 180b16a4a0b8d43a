import { readAddress } from '../../src/drivers/rabbitmq-stream/address.ts'
import { queryStats } from '../../src/drivers/rabbitmq-stream/wire/commands.ts'
import { FrameWriter } from '../../src/drivers/rabbitmq-stream/wire/frame.ts'
import { openLink } from '../../src/drivers/rabbitmq-stream/wire/handshake.ts'
import { until } from '../../src/testing/until.ts'

const declarePublisher = 0x01
const publish = 0x02

export const plainEntry = (body: string | Buffer): Buffer => {
  const bytes = Buffer.from(body)
  const size = Buffer.alloc(4)
  size.writeUInt32BE(bytes.length)
  return Buffer.concat([size, bytes])
}

/** A sub-batch as its publisher sends it, right or wrong: the broker looks at its counts and sizes only. */
export function subBatchEntry(
  method: number,
  records: number,
  packed: Buffer,
  stated = packed.length,
): Buffer {
  const head = Buffer.alloc(11)
  head.writeUInt8(0x80 | (method << 4), 0)
  head.writeUInt16BE(records, 1)
  head.writeUInt32BE(stated, 3)
  head.writeUInt32BE(packed.length, 7)
  return Buffer.concat([head, packed])
}

/** Publishes entries as they are, in one frame, and waits until the stream has them. */
export async function publishEntries(url: string, stream: string, entries: readonly Buffer[]): Promise<void> {
  const { connection } = await openLink(readAddress(url, 'a test'), 'publishes')
  try {
    await connection.request(
      declarePublisher,
      'declare a publisher',
      frame => frame.u8(0).text('').text(stream),
      () => {},
    )
    const { committedChunk } = await queryStats(connection, stream)
    const frame = new FrameWriter(publish).u8(0).u32(entries.length)
    for (const [index, entry] of entries.entries()) {
      frame.u64(BigInt(index))
      for (const byte of entry) frame.u8(byte)
    }
    connection.send(frame)
    await until(
      'the stream has them',
      async () => (await queryStats(connection, stream)).committedChunk > committedChunk,
    )
  } finally {
    await connection.close(1_000)
  }
}
