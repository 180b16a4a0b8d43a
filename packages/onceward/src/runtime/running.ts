import type { SqlTransaction } from '../contract/handler.ts'
import type { OwnPool } from '../drivers/postgres/pool.ts'
import type { ConsumerProcess } from '../engine/consumer/consumer.ts'
import type { Environment } from '../environment.ts'
import type { Lifecycle } from './open-relays.ts'
import type { Running } from './run-consumer.ts'
import type { HealthWatch } from './run-health.ts'

/**
 * After the deadline: time to return deliveries, then the same again for parts that failed by the abort.
 */
const graceMs = 500

/** Does not wait for a connection attempt: its server does not answer. */
export function endPool(pool: OwnPool, { timers }: Pick<Environment, 'timers'>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const cancel = timers.after(graceMs, resolve)
  return Promise.race([pool.end(), promise]).finally(cancel)
}

/** A consumer with its other parts, as one: they drain in turn and end together. */
export function running(
  consumer: ConsumerProcess<unknown, SqlTransaction> | null,
  worker: () => ConsumerProcess<unknown, SqlTransaction> | null,
  parts: readonly Lifecycle[],
  pool: OwnPool,
  { clock, timers, log }: Environment,
  watch: HealthWatch,
): Running {
  const leave = () => {
    for (const part of parts) part.leave()
  }
  let stops: 'draining' | 'stopped' | null = null
  const close = async () => {
    stops = 'stopped'
    await watch.close()
    await pool.end()
  }
  const finished = Promise.all(parts.map(part => part.finished))
    .catch(async error => {
      leave()
      await Promise.allSettled(parts.map(part => part.finished))
      await close()
      throw error
    })
    .then(close)
  finished.catch(() => {})

  /** One deadline for all parts and the database: after it, none of them is waited for. */
  const drain = async (deadlineMs = 25_000) => {
    stops ??= 'draining'
    const endMs = clock.nowMs() + deadlineMs
    const orderly = async () => {
      // The consumer first: relays and dispatchers can still send the effects it commits while draining.
      for (const part of [...parts].reverse()) await part.drain(Math.max(0, endMs - clock.nowMs()))
      await finished
    }
    const { promise: late, resolve: giveUp } = Promise.withResolvers<void>()
    const inTurn = [
      leave,
      () => pool.cut(),
      () => {
        log.warn('left before everything was closed: a server does not answer; nothing is lost')
        giveUp()
      },
    ]
    const cancels = inTurn.map((step, index) => timers.after(deadlineMs + index * graceMs, step))
    const drained = orderly()
    drained.catch(() => {})
    await Promise.race([drained, late]).finally(() => {
      for (const cancel of cancels) cancel()
    })
  }
  // A source that is declared to end ends the consumer, and with it the other parts.
  consumer?.finished.then(() => drain()).catch(() => {}) // `finished` says what went wrong
  return {
    consumer,
    get worker() {
      return worker()
    },
    leave,
    finished,
    drain,
    health() {
      if (stops === null) return watch.read()
      return { ready: false, reasons: [stops], oldestUnfinishedSeconds: null, stalledSeconds: null }
    },
  }
}
