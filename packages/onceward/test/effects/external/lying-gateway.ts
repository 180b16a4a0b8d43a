import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'

/**
 * A gateway in a process of its own that lies in every way it can. `/keyed` charges once per key and stores
 * its answers, `/forgetful` forgets keys after two seconds, `/keyless` charges at every call and can be
 * asked, `/once` as well and cannot. `/book` is the truth.
 */
const lies = [
  'plain',
  'charge, never answer',
  'charge, then 500',
  'charge, then reset',
  'charge, then drip',
  'charge, answer without end',
  'busy',
  'limited',
  'in progress',
  'charge, stored 500',
  'refuse',
] as const
type Lie = (typeof lies)[number]

export interface Book {
  /** By key: how often it was charged, how often called, and the bytes of its calls. */
  readonly keys: Record<string, { charges: number; calls: number; bodies: string[] }>
  readonly told: Record<string, number>
  readonly calls: number
}

const keys: Record<string, { charges: number; calls: number; bodies: string[]; storedUntilMs: number }> = {}
const stored500 = new Set<string>()
const told: Record<string, number> = {}
let calls = 0

const server = createServer(async (request, response) => {
  response.on('error', () => {})
  const url = new URL(request.url!, 'http://liar')
  if (url.pathname === '/book') return void response.end(JSON.stringify({ keys, told, calls }))
  const asked = url.searchParams.get('key')
  if (asked !== null) return void response.end(keys[asked]?.charges ? 'completed' : 'not done')
  const body = await buffer(request).catch(() => null)
  if (body === null) return
  const path = url.pathname.slice(1)
  const key = String(request.headers['idempotency-key'] ?? JSON.parse(body.toString()).capture)
  answer(path, key, body.toString('hex'), response)
})

function answer(path: string, key: string, body: string, response: ServerResponse): void {
  calls++
  keys[key] ??= { charges: 0, calls: 0, bodies: [], storedUntilMs: 0 }
  const row = keys[key]
  row.calls++
  if (!row.bodies.includes(body)) row.bodies.push(body)
  const nowMs = performance.now()
  const known = (path === 'keyed' || path === 'forgetful') && row.charges > 0 && nowMs < row.storedUntilMs
  const lie = lieOf(path, key, row.calls)
  told[`${path}: ${lie}`] = (told[`${path}: ${lie}`] ?? 0) + 1
  if (known && row.bodies.length > 1) return void response.writeHead(422).end()
  if (stored500.has(key)) return void response.writeHead(500, { 'idempotent-replayed': 'true' }).end('stored')
  if (lie === 'busy') return void response.writeHead(503).end()
  if (lie === 'limited') return void response.writeHead(429, { 'retry-after': '0' }).end()
  if (lie === 'in progress') return void response.writeHead(409).end()
  if (lie === 'refuse' && row.charges === 0) return void response.writeHead(402).end('declined')
  if (!known) {
    row.charges++
    row.storedUntilMs = nowMs + (path === 'forgetful' ? 2_000 : 86_400_000)
  }
  misbehave(lie, key, response)
}

function misbehave(lie: Lie, key: string, response: ServerResponse): void {
  if (lie === 'charge, never answer') return
  if (lie === 'charge, then reset') return void response.destroy()
  if (lie === 'charge, then 500') return void response.writeHead(500).end('oops')
  if (lie === 'charge, stored 500') {
    stored500.add(key)
    return void response.writeHead(500).end('stored')
  }
  if (lie !== 'charge, then drip' && lie !== 'charge, answer without end')
    return void response.end('{"charged":true}')
  response.writeHead(200)
  const size = lie === 'charge, then drip' ? 1 : 65_536
  const timer = setInterval(() => response.write(Buffer.alloc(size)), 20)
  response.on('close', () => clearInterval(timer))
}

/**
 * The first call of a key lies by its number, the second still may; after that the gateway is honest. Without
 * keys 409 is a refusal.
 */
function lieOf(path: string, key: string, call: number): Lie {
  const number = Number(key.split('-').at(-1))
  const lie =
    call === 1 ? lies[number % lies.length]! : call === 2 ? lies[(number * 7 + 3) % lies.length]! : 'plain'
  const keyed = path === 'keyed' || path === 'forgetful'
  if (lie === 'charge, stored 500' && path !== 'keyed') return 'charge, then 500'
  if (lie === 'in progress' && !keyed) return 'charge, then reset'
  return lie === 'refuse' && call === 2 ? 'plain' : lie
}

server.listen(0, '127.0.0.1', () => process.send!((server.address() as AddressInfo).port))
