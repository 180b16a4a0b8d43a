import type { Consumer } from '../contract/define-consumer.ts'
import { firstSeenOf } from '../drivers/postgres/gauges/first-seen.ts'
import type { SqlPool } from '../drivers/postgres/pool.ts'
import type { ConsumerProcess } from '../engine/consumer/consumer.ts'
import type { Environment } from '../environment.ts'
import type { Received } from '../message/received.ts'
import { readProgress } from '../replay/campaign/campaign-progress.ts'
import { StoreGauges } from '../telemetry/store-gauges.ts'
import { showUnserved } from '../telemetry/unserved-gauge.ts'
import { UnfinishedWatch } from './unfinished-watch.ts'

/** Whether a process does its work now. */
export interface Health {
  readonly ready: boolean
  /** Why it is not ready, one sentence per reason. */
  readonly reasons: readonly string[]
  /** Age of the oldest message that was read or stored and is unfinished; null without one. */
  readonly oldestUnfinishedSeconds: number | null
  /** Time since the last delivery while messages are known to wait; null otherwise. */
  readonly stalledSeconds: number | null
}

/** Longer than a broker takes to elect a leader after a clean stop. */
export const stalledMaxMs = 5_000

export interface HealthWatch {
  read(): Health
  /** Stops all queries. */
  close(): Promise<void>
}

type AnyProcess = Pick<
  ConsumerProcess<unknown, never>,
  'state' | 'sourceDisconnected' | 'stalled' | 'degraded' | 'tally' | 'unfinished'
>

export interface ConsumerWatchOptions {
  readonly consumer: Consumer<never, never>
  /** The reader of the source; null when only other parts run. */
  readonly reader: AnyProcess | null
  /** The worker, if there is one. */
  readonly worker: () => AnyProcess | null
  /** The queue whose effect lag is measured here; null for logs, which measure their own. */
  readonly queue: string | null
  readonly pool: SqlPool
  readonly env: Environment
  readonly now: () => number
  readonly gaugesMaxAgeMs?: number | undefined
}

/** Starts to measure ages with the first request, so that an unqueried process pays nothing. */
export function watchConsumer(options: ConsumerWatchOptions): HealthWatch {
  const { consumer, reader, worker, env, now, queue } = options
  const processes = () => [reader, worker()].filter(one => one !== null)
  const { name, owner, risk, objectives } = consumer
  const store = new StoreGauges({ ...options, readProgress })
  const unserved = showUnserved(options.pool, env)
  let watch: UnfinishedWatch | null = null
  const oldestMs = () => {
    watch ??= new UnfinishedWatch({
      env,
      now,
      unfinished: () => unfinished(processes()),
      firstSeen: firstSeenOf(options.pool, consumer),
      running: () => processes().every(({ state }) => state === 'running'),
    })
    return watch.oldestMs()
  }
  const stop = env.metrics.watch(['up', 'stalled', 'info', 'effectLag'], see => {
    // A worker or relay alone neither reads messages nor has halted: it would hide a missing reader, or look
    // like a halt.
    if (reader !== null) {
      see('up', reader.state === 'running' && !reader.sourceDisconnected ? 1 : 0, { consumer: name })
      see('stalled', (reader.stalled?.forMs ?? 0) / 1_000, { consumer: name })
    }
    see('info', 1, { consumer: name, owner, risk })
    // Logs report the lag of each partition themselves, with the first-seen times that the watch sets.
    const oldest = oldestMs() ?? 0
    if (queue !== null) see('effectLag', oldest / 1_000, { consumer: name, partition: queue })
  })
  return {
    read() {
      const known = [oldestMs(), store.heldOldestMs || null].filter(one => one !== null)
      const oldest = known.length === 0 ? null : Math.max(...known)
      const reasons = processes().flatMap(troubles)
      if (oldest !== null && oldest > objectives.lagMaxMs)
        reasons.push(
          `the oldest unfinished message is ${Math.round(oldest / 1_000)} s old, and the contract allows ${objectives.lagMaxMs / 1_000} s`,
        )
      return {
        ready: reasons.length === 0,
        reasons: [...new Set(reasons)],
        oldestUnfinishedSeconds: oldest === null ? null : oldest / 1_000,
        stalledSeconds: reader?.stalled == null ? null : reader.stalled.forMs / 1_000,
      }
    },
    async close() {
      stop()
      await watch?.stop()
      await store.close()
      await unserved.close()
    },
  }
}

/** Health of relays alone: they work while they reach the database and their brokers. */
export function watchCarriers(
  carriers: readonly { readonly unreachable: readonly string[] }[],
  pool: SqlPool,
  env: Environment,
): HealthWatch {
  const unserved = showUnserved(pool, env)
  return {
    read() {
      const unreachable = new Set(carriers.flatMap(carrier => carrier.unreachable))
      const reasons = [...unreachable].map(what => `${what} does not answer`)
      return { ready: reasons.length === 0, reasons, oldestUnfinishedSeconds: null, stalledSeconds: null }
    },
    close: () => unserved.close(),
  }
}

function troubles({ state, sourceDisconnected, stalled, degraded, tally }: AnyProcess): string[] {
  const found: string[] = [...degraded]
  if (stalled !== null && stalled.forMs > stalledMaxMs)
    found.push(`stalled for ${Math.round(stalled.forMs / 1_000)} s: ${stalled.reason}`)
  if (state === 'new') found.push('starting')
  else if (state !== 'running') found.push(state)
  if (sourceDisconnected) found.push('the broker of its source does not answer')
  if (tally.breaker !== 'closed') found.push('paused: a dependency is unavailable')
  if (tally.storeUnavailable) found.push('the database does not answer')
  return found
}

function* unfinished(processes: readonly AnyProcess[]): Iterable<Received> {
  for (const process of processes) yield* process.unfinished()
}
