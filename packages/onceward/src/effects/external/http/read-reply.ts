import type { IncomingMessage } from 'node:http'
import { bytesDigest } from '../../../message/digest.ts'
import { type HttpAnswer, replyBytesMax } from '../answer.ts'
import { retryAfterMs } from './retry-after.ts'

/** Reads up to the cap, then hangs up: a reply without end costs no more than that. Whoever destroys the socket ends it as broken. */
export function readReply(
  response: IncomingMessage,
  replayedHeader: string,
  done: (answer: HttpAnswer) => void,
): void {
  const chunks: Buffer[] = []
  let bytes = 0
  let ended = false
  const end = (reply: HttpAnswer['reply']) => {
    if (ended) return
    ended = true
    const body = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)
    const kept = body.subarray(0, replyBytesMax)
    done({
      kind: 'answered',
      status: response.statusCode!,
      body: kept,
      digest: bytesDigest(kept),
      reply,
      retryAfterMs: retryAfterMs(response.headers),
      replayed: response.headers[replayedHeader] === 'true',
    })
  }
  response.on('data', (chunk: Buffer) => {
    chunks.push(chunk)
    bytes += chunk.byteLength
    if (bytes <= replyBytesMax) return
    end('capped')
    response.destroy()
  })
  response.on('end', () => end(response.complete ? 'whole' : 'broken'))
  response.on('error', () => end('broken'))
  response.on('close', () => end('broken'))
}
