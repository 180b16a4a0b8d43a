import { request as overHttp } from 'node:http'
import { request as overHttps } from 'node:https'
import type { TlsMaterial } from '../tls/broker-tls.ts'

export interface JsonAnswer {
  readonly status: number
  /** Null unless the status is 200. */
  readonly body: unknown
}

/** Enough for some hundred thousand queues. A larger answer is aborted. */
const bytesMax = 128 * 1024 * 1024

/** One GET. Not by `fetch`, which accepts no trusted authority and would follow a redirect with the login. */
export function getJson(
  address: URL,
  headers: Readonly<Record<string, string>>,
  tls: TlsMaterial,
  timeoutMs: number,
): Promise<JsonAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<JsonAnswer>()
  const signal = AbortSignal.timeout(timeoutMs)
  const options = { headers, signal, agent: false as const }
  const asked =
    address.protocol === 'https:' ? overHttps(address, { ...options, ...tls }) : overHttp(address, options)
  asked.on('error', reject)
  asked.on('response', response => {
    const chunks: Buffer[] = []
    let bytes = 0
    response.on('error', reject)
    response.on('data', chunk => {
      bytes += chunk.length
      if (bytes > bytesMax) asked.destroy(new Error(`the answer is larger than ${bytesMax} bytes`))
      else chunks.push(chunk)
    })
    response.on('end', () => {
      const status = response.statusCode ?? 0
      try {
        resolve({ status, body: status === 200 ? JSON.parse(Buffer.concat(chunks).toString('utf8')) : null })
      } catch (error) {
        reject(error)
      }
    })
  })
  asked.end()
  return promise
}
