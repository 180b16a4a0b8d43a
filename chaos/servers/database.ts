import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import type { Cell } from '../cell.ts'
import { Link } from './link.ts'
import { startPooler } from './pooler.ts'
import { startSinglePrimary } from './single-primary.ts'
import { startWithStandby } from './with-standby.ts'

/** A server that may be hurt, of this run alone. */
export interface PrimaryServer {
  readonly url: string
  readonly pid: number
  readonly port: number
  /** Starts it again after a kill, on the same data and port. */
  start(): Promise<void>
  /** Fills the small disk of the business tables; null where there is none. */
  readonly disk: { fill(): void; empty(): void; readonly tablespace: string } | null
  /** Null without a standby. */
  readonly standby: {
    cut(ms: number): Promise<void>
    promote(): Promise<number>
    isPromoted(): boolean
  } | null
  readonly logFiles: () => string[]
  close(): Promise<void>
}

export interface ChaosDatabase {
  /** Through the link that faults hurt, and through the pooler where the cell has one. */
  readonly insideUrl: string
  /** Follows a failover and is never hurt. */
  readonly outsideUrl: string
  readonly link: Link
  readonly primary: PrimaryServer
  readonly pooler: { kill(): Promise<void>; readonly logFile: string } | null
  /** kill -9 of the server, and a start. */
  kill(): Promise<void>
  freeze(ms: number): Promise<void>
  promote(): Promise<void>
  close(): Promise<void>
}

export async function startDatabase({ database }: Cell, folder: string): Promise<ChaosDatabase> {
  const cleanup = new AsyncDisposableStack()
  const closing = <T extends { close(): Promise<void> }>(one: T): T => {
    cleanup.defer(() => one.close())
    return one
  }
  try {
    const primary = closing(await (database === 'standby' ? startWithStandby() : startSinglePrimary()))
    const outside = closing(await Link.open([{ host: '127.0.0.1', port: primary.port }]))
    const pooler = database === 'pgbouncer' ? closing(await startPooler(primary.url, folder)) : null
    const link = closing(await Link.open([{ host: '127.0.0.1', port: pooler?.port ?? primary.port }]))
    return {
      insideUrl: link.through(primary.url),
      outsideUrl: outside.through(primary.url),
      link,
      primary,
      pooler,
      async kill() {
        process.kill(primary.pid, 'SIGKILL')
        await primary.start()
      },
      freeze: ms => freezeServer(primary.pid, ms),
      async promote() {
        const port = await primary.standby!.promote()
        outside.redirect(port)
        link.redirect(port)
      },
      close: () => cleanup.disposeAsync(),
    }
  } catch (error) {
    await cleanup.disposeAsync()
    throw error
  }
}

/** The postmaster and all its backends: the kernel still accepts connections. */
async function freezeServer(pid: number, ms: number): Promise<void> {
  const frozen = [pid, ...childrenOf(pid)]
  signalAll(frozen, 'SIGSTOP')
  await wait(ms)
  signalAll(frozen, 'SIGCONT')
}

function signalAll(pids: readonly number[], signal: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal)
    } catch {
      // A backend that has ended meanwhile.
    }
  }
}

function childrenOf(parent: number): number[] {
  return readdirSync('/proc').flatMap(name => {
    if (!/^\d+$/.test(name)) return []
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8')
      return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]) === parent ? [Number(name)] : []
    } catch {
      return []
    }
  })
}
