import { hash } from 'node:crypto'
import { openSync, writeSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { seededRandom } from './seeded-random.ts'
import { endWithParent, report, reportRegularly } from './settings.ts'

/** One call in the gateway's book. */
export interface GatewayCall {
  readonly key: string | null
  readonly capture: string
  readonly amount: number
  /** SHA-256 of the request's bytes in hex. */
  readonly digest: string
  readonly charged: boolean
  readonly answer: 'ok' | 'hang' | 'error before' | 'error after' | 'refused'
}

/**
 * A realistic payment gateway: it honours the idempotency key and charges again without one. Occasionally it
 * charges and never answers, or answers 500 before or after charging. It writes its book before any answer.
 */
class Gateway {
  readonly #random: () => number
  readonly #book: number
  readonly #requestByKey = new Map<string, string>()
  readonly counts = { calls: 0, charges: 0, hung: 0, errors: 0 }

  constructor(bookFile: string, seed: number) {
    this.#book = openSync(bookFile, 'a')
    this.#random = seededRandom(seed + 2)
  }

  answer(key: string | null, bytes: Buffer, response: ServerResponse): void {
    const { captureRequestId, amount } = JSON.parse(bytes.toString()) as {
      captureRequestId: string
      amount: number
    }
    const digest = hash('sha256', bytes)
    const known = key === null ? undefined : this.#requestByKey.get(key)
    const answer = known !== undefined && known !== digest ? 'refused' : this.#mood()
    const charged = known === undefined && answer !== 'error before'
    if (charged && key !== null) this.#requestByKey.set(key, digest)
    this.#write({ key, capture: captureRequestId, amount, digest, charged, answer })
    if (answer === 'hang') return
    const status = answer === 'ok' ? 200 : answer === 'refused' ? 422 : 500
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(JSON.stringify(status === 200 ? { captured: captureRequestId } : { error: answer }))
  }

  #mood(): GatewayCall['answer'] {
    const chance = this.#random()
    if (chance < 0.01) return 'hang'
    if (chance < 0.02) return 'error before'
    return chance < 0.03 ? 'error after' : 'ok'
  }

  #write(call: GatewayCall): void {
    writeSync(this.#book, `${JSON.stringify(call)}\n`)
    this.counts.calls++
    if (call.charged) this.counts.charges++
    if (call.answer === 'hang') this.counts.hung++
    if (call.answer.startsWith('error')) this.counts.errors++
  }
}

async function bytesOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

/** Started before the others, which need its address. Its settings are passed as arguments. */
async function serve(bookFile: string, seed: number): Promise<void> {
  const gateway = new Gateway(bookFile, seed)
  const server = createServer((request, response) => {
    const key = request.headers['idempotency-key']
    bytesOf(request).then(
      bytes => gateway.answer(typeof key === 'string' ? key : null, bytes, response),
      () => response.destroy(),
    )
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  reportRegularly(() => ({ kind: 'gateway', ...gateway.counts }))
  report({ kind: 'ready', url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` })
  process.on('message', () => {
    report({ kind: 'gateway', ...gateway.counts })
    process.disconnect()
  })
}

endWithParent()
await serve(process.argv[2]!, Number(process.argv[3]))
