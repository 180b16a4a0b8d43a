import { hash } from 'node:crypto'
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import { seededRandom } from '../../examples/demo/seeded-random.ts'
import { endWithParent, readSettings, report } from './settings.ts'

export interface GatewayCall {
  readonly key: string
  readonly digest: string
  readonly id: string
  readonly request: string
  /** False when the key had been charged before. */
  readonly charged: boolean
}

/**
 * A payment gateway that keeps idempotency keys and writes each call to its book before it answers. It fails
 * and hangs up now and then, before or after it has charged. Killed, it continues from its book.
 */
function serve(): void {
  const { gatewayBook, gatewayPort, seed } = readSettings()
  const random = seededRandom(seed + process.pid)
  const charged = new Set(readBook(gatewayBook).map(call => call.key))
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', chunk => chunks.push(chunk))
    request.on('end', () => {
      const drawn = random()
      if (drawn < 0.03) return void response.writeHead(503).end()
      const key = String(request.headers['idempotency-key'])
      const body = Buffer.concat(chunks)
      const { id, request: name } = JSON.parse(body.toString()) as GatewayCall
      const call = { key, digest: hash('sha256', body), id, request: name, charged: !charged.has(key) }
      charged.add(key)
      appendFileSync(gatewayBook, `${JSON.stringify(call)}\n`)
      answer(response, drawn)
    })
  })
  server.listen(gatewayPort, '127.0.0.1', () => report({ kind: 'ready' }))
}

function answer(response: ServerResponse, drawn: number): void {
  if (drawn < 0.05) return void response.destroy()
  const delayMs = drawn < 0.07 ? 1_500 : 0
  setTimeout(
    () => response.writeHead(200, { 'content-type': 'application/json' }).end('{"ok":true}'),
    delayMs,
  )
}

export function readBook(file: string): GatewayCall[] {
  if (!existsSync(file)) return []
  const lines = readFileSync(file, 'utf8').split('\n')
  return lines.filter(line => line !== '').map(line => JSON.parse(line) as GatewayCall)
}

if (import.meta.main) {
  endWithParent()
  serve()
}
