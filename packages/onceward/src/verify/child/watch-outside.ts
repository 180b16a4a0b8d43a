import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import net from 'node:net'
import { currentCall } from './handler-calls.ts'
import type { Leak } from './orders.ts'

export interface OutsideWatcher {
  readonly onLeak: (leak: Leak) => void
  /** Connections of handlers go to this port of the parent, which answers every request with 200. */
  readonly stubPort: number
  /** `host:port` of the database, and of what the user allows. */
  readonly allowed: ReadonlySet<string>
}

/** Watches connections and files of handlers. Connections are redirected: no real server is called. */
export function watchOutside(watcher: OutsideWatcher): void {
  watchConnections(watcher)
  watchFiles(watcher)
}

interface Address {
  readonly host?: string
  readonly port?: number | string
  readonly path?: string
}

function watchConnections({ onLeak, stubPort, allowed }: OutsideWatcher): void {
  const real = net.Socket.prototype.connect as (this: net.Socket, ...given: unknown[]) => net.Socket
  net.Socket.prototype.connect = function (this: net.Socket, ...given: unknown[]) {
    const list = Array.isArray(given[0]) ? (given[0] as unknown[]) : given
    const address = addressOf(list)
    const name = `${address.host ?? 'localhost'}:${address.port ?? address.path}`
    if (currentCall() === undefined || allowed.has(name)) return real.apply(this, given)
    onLeak({ kind: 'network', what: name })
    const options = { ...(typeof list[0] === 'object' ? list[0] : {}), host: '127.0.0.1', port: stubPort }
    const listener = list.find(one => typeof one === 'function')
    return real.call(this, { ...options, path: undefined }, ...(listener === undefined ? [] : [listener]))
  } as never
}

function addressOf([first, second]: readonly unknown[]): Address {
  if (typeof first === 'object' && first !== null) return first as Address
  return { port: first as number, ...(typeof second === 'string' && { host: second }) }
}

const writers = [
  ...['writeFile', 'appendFile', 'writeFileSync', 'appendFileSync', 'unlink', 'unlinkSync', 'rename'],
  ...['renameSync', 'mkdir', 'mkdirSync', 'rm', 'rmSync', 'createWriteStream', 'copyFile', 'copyFileSync'],
]

function watchFiles({ onLeak }: OutsideWatcher): void {
  for (const owner of [fs, fs.promises] as object[]) {
    for (const name of writers) {
      const real = Reflect.get(owner, name) as ((...given: unknown[]) => unknown) | undefined
      if (real === undefined) continue
      Reflect.set(owner, name, function (this: unknown, ...given: unknown[]) {
        if (currentCall() !== undefined) onLeak({ kind: 'file', what: String(given[0]) })
        return real.apply(this ?? owner, given)
      })
    }
  }
  syncBuiltinESMExports()
}
