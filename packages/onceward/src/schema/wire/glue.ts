import { inflateSync } from 'node:zlib'
import { guidBytes, guidText } from './guid.ts'
import type { WireFormat } from './wire-format.ts'

const headerBytes = 2 + guidBytes

/** AWS Glue: byte 3, a byte for the compression (0 none, 5 zlib), the UUID of the schema's version. */
export const glueWire: WireFormat = {
  name: 'glue',
  read(body, _delivery, { bytesMax }) {
    if (body.length < headerBytes) throw new RangeError(`${body.length} bytes: too short for Glue's header`)
    if (body[0] !== 3) throw new RangeError(`the first byte is ${body[0]}, not 3 of Glue's header`)
    const ref = { kind: 'guid', guid: guidText(body.subarray(2, headerBytes)) } as const
    return { ref, payload: unpack(body.subarray(headerBytes), body[1]!, bytesMax), indexes: null }
  },
}

function unpack(payload: Buffer, compression: number, bytesMax: number): Buffer {
  switch (compression) {
    case 0:
      return payload
    case 5:
      return inflateSync(payload, { maxOutputLength: bytesMax })
    default:
      throw new RangeError(`unknown compression ${compression} in Glue's header`)
  }
}
