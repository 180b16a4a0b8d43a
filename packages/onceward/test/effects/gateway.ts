import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/**
 * What the gateway does with one call. Charging is idempotent by key; the same key with other bytes is
 * refused.
 */
export type Behaviour =
  | 'charge'
  | 'charge, never answer'
  | 'charge, then 500'
  | 'charge, then reset'
  | 'charge, then drip'
  | 'charge, answer without end'
  | 'hold, then charge'
  | { readonly status: number; readonly headers?: Record<string, string>; readonly body?: string }

export interface Call {
  readonly key: string
  readonly body: string
  readonly contentType: string | undefined
  readonly path: string
}

/** A payment provider with a book of what it was asked and what it did. */
export class Gateway {
  readonly calls: Call[] = []
  readonly charges = new Map<string, string>()
  readonly #plans = new Map<string, Behaviour[]>()
  readonly #inFlight = new Map<string, number>()
  readonly #held = new Set<() => void>()
  readonly #server = createServer((request, response) => void this.#take(request, response))
  #callsInFlight = 0
  callsInFlightMax = 0
  perKeyInFlightMax = 0

  async open(): Promise<this> {
    await new Promise<void>(resolve => this.#server.listen(0, '127.0.0.1', resolve))
    return this
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/charges`
  }

  /** The next calls with this key, in order; after them it just charges. */
  plan(key: string, ...behaviours: Behaviour[]): void {
    this.#plans.set(key, behaviours)
  }

  callsFor(key: string): readonly Call[] {
    return this.calls.filter(call => call.key === key)
  }

  release(): void {
    for (const go of this.#held) go()
    this.#held.clear()
  }

  close(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    request.on('error', () => {})
    response.on('error', () => {})
    for await (const chunk of request) chunks.push(chunk)
    const body = Buffer.concat(chunks).toString('hex')
    const key = String(
      request.headers['idempotency-key'] ?? JSON.parse(Buffer.from(body, 'hex').toString()).capture,
    )
    this.calls.push({ key, body, contentType: request.headers['content-type'], path: request.url! })
    this.#enter(key)
    response.on('close', () => this.#exit(key))
    await this.#behave(this.#plans.get(key)?.shift() ?? 'charge', key, body, response)
  }

  async #behave(behaviour: Behaviour, key: string, body: string, response: ServerResponse): Promise<void> {
    if (typeof behaviour === 'object')
      return void response.writeHead(behaviour.status, behaviour.headers).end(behaviour.body)
    if (behaviour === 'hold, then charge') await new Promise<void>(go => this.#held.add(go))
    const known = this.charges.get(key)
    if (known !== undefined && known !== body) return void response.writeHead(422).end()
    this.charges.set(key, body)
    if (behaviour === 'charge, never answer') return
    if (behaviour === 'charge, then reset') return void response.destroy()
    if (behaviour === 'charge, then 500') return void response.writeHead(500).end('oops')
    if (behaviour === 'charge, then drip') return this.#drip(response)
    if (behaviour === 'charge, answer without end') return this.#flood(response)
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"charged":true}')
  }

  #drip(response: ServerResponse): void {
    response.writeHead(200)
    const timer = setInterval(() => response.write('.'), 20)
    response.on('close', () => clearInterval(timer))
  }

  #flood(response: ServerResponse): void {
    response.writeHead(200)
    const more = () => {
      while (!response.destroyed && response.write(Buffer.alloc(16 * 1024))) {}
    }
    response.on('drain', more)
    more()
  }

  #enter(key: string): void {
    this.callsInFlightMax = Math.max(this.callsInFlightMax, ++this.#callsInFlight)
    this.#inFlight.set(key, (this.#inFlight.get(key) ?? 0) + 1)
    this.perKeyInFlightMax = Math.max(this.perKeyInFlightMax, this.#inFlight.get(key)!)
  }

  #exit(key: string): void {
    this.#callsInFlight--
    this.#inFlight.set(key, this.#inFlight.get(key)! - 1)
  }
}
