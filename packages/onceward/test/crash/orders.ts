import type { Mode, Part, PublishTarget } from 'onceward'
import type { CrashPoint } from '../../src/crash-points.ts'
import type { BrokerUrls } from './brokers.ts'
import type { Memory } from './workload.ts'

/** What a parent tells a worker process; see `spawnWorker`. */
export interface WorkerOrders {
  readonly databaseUrl: string
  /** Absent for tasks without a broker. */
  readonly urls?: BrokerUrls
  readonly gatewayUrl: string
  readonly declaration: { kind: string }
  readonly deadLetter: string | null
  readonly task: 'consume' | 'migrate'
  readonly parts?: readonly Part[]
  readonly mode?: Mode
  readonly memory?: Memory
  readonly dieAt?: {
    readonly point: CrashPoint
    readonly hit: number
    readonly witness: string
    /** Die at the first passage of this point as well. */
    readonly before?: CrashPoint
  }
  readonly ledgerLeaseMs?: number
  readonly relayLeaseMs?: number
  readonly target?: PublishTarget
  /** Tells the parent and waits for ever inside the handler of this id, after its first write. */
  readonly freezeIn?: string
  /** Default: the workload's budget. */
  readonly attemptsMax?: number
  readonly handlerTimeoutMs?: number
}
