import type { Transform } from '../contract/define-transform.ts'
import type { TransformLoop } from '../drivers/kafka/transform-loop.ts'
import type { TransformBatches } from '../engine/transform/transform-batches.ts'
import type { Environment } from '../environment.ts'
import type { PartitionLag } from '../ports/source.ts'
import { type Health, type HealthWatch, stalledMaxMs } from './run-health.ts'

export interface TransformWatchOptions<M, Out> {
  readonly transform: Transform<M>
  readonly loop: Pick<TransformLoop, 'lag' | 'stalled' | 'trouble' | 'finished'>
  readonly work: Pick<TransformBatches<M, Out>, 'breaker' | 'braked'>
  readonly env: Environment
}

/** The gauges of consumers, and the health of a transform. It asks no server. */
export function watchTransform<M, Out>({
  transform,
  loop,
  work,
  env,
}: TransformWatchOptions<M, Out>): HealthWatch & { stopping(): void } {
  const { name, owner, risk, objectives, failure } = transform
  const labels = { consumer: name }
  let state: 'running' | 'draining' | 'halted' | 'stopped' = 'running'
  loop.finished.then(
    () => {
      state = 'stopped'
    },
    () => {
      state = 'halted'
    },
  )
  const stops = [
    env.metrics.watchLag(name, () => loop.lag()),
    env.metrics.watch(['up', 'stalled', 'info'], see => {
      see('up', state === 'running' && loop.trouble === null ? 1 : 0, labels)
      see('stalled', (loop.stalled()?.forMs ?? 0) / 1_000, labels)
      see('info', 1, { ...labels, owner, risk })
    }),
    ...(failure.breaker === null
      ? []
      : [env.metrics.watch(['paused'], see => see('paused', work.breaker === 'closed' ? 0 : 1, labels))]),
    ...(failure.brake === null
      ? []
      : [
          env.metrics.watch(['braked'], see => {
            for (const { type, cause } of work.braked)
              see('braked', 1, { ...labels, type, cause, version: transform.handlerVersion })
          }),
        ]),
  ]
  return {
    stopping() {
      if (state === 'running') state = 'draining'
    },
    read() {
      const oldestMs = ageOf(loop.lag(), Date.now())
      const stalled = loop.stalled()
      const reasons = state === 'running' ? troubles(oldestMs) : [state]
      return {
        ready: reasons.length === 0,
        reasons,
        oldestUnfinishedSeconds: oldestMs === null ? null : oldestMs / 1_000,
        stalledSeconds: stalled === null ? null : stalled.forMs / 1_000,
      }
    },
    async close() {
      for (const stop of stops) stop()
    },
  }

  function troubles(oldestMs: number | null): string[] {
    const stalled = loop.stalled()
    const found: string[] = []
    if (loop.trouble !== null) found.push(loop.trouble)
    if (work.breaker !== 'closed') found.push('paused: a dependency is unavailable')
    if (stalled !== null && stalled.forMs > stalledMaxMs)
      found.push(`stalled for ${Math.round(stalled.forMs / 1_000)} s: ${stalled.reason}`)
    if (oldestMs !== null && oldestMs > objectives.lagMaxMs)
      found.push(
        `the oldest unfinished message is ${Math.round(oldestMs / 1_000)} s old, and the contract allows ${objectives.lagMaxMs / 1_000} s`,
      )
    return found
  }
}

function ageOf(lag: readonly PartitionLag[], nowMs: number): Health['oldestUnfinishedSeconds'] {
  const oldest = lag.flatMap(({ oldestMs }) => oldestMs ?? [])
  return oldest.length === 0 ? null : Math.max(0, nowMs - Math.min(...oldest))
}
