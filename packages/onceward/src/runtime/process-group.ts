import { mergeExpositions } from '../telemetry/merge-expositions.ts'
import { type ChildNumber, childEnvironment } from './child-process.ts'
import type { Health } from './run-health.ts'
import { type ChildEnd, type SuperviseOptions, superviseChild } from './supervise.ts'

/** The same program in several supervised processes. */
export interface ProcessGroup {
  /**
   * Resolves when all have ended. A process that ends by itself, by a halt or at the end of its source, ends
   * the others: what stopped it concerns them too.
   */
  readonly ended: Promise<readonly ChildEnd[]>
  /** One page for all; with several processes each series has a label `process`. */
  metrics(): Promise<string>
  /** Ready when every process is. */
  health(): Promise<Health>
}

export type GroupOptions = SuperviseOptions & { readonly processes: number }

/** Signals are forwarded to every process. */
export function startProcessGroup(options: GroupOptions): ProcessGroup {
  const of = options.processes
  const numbers: readonly ChildNumber[] = Array.from({ length: of }, (_, index) => ({
    number: index + 1,
    of,
  }))
  const children = numbers.map(child =>
    superviseChild({ ...options, environment: { ...options.environment, ...childEnvironment(child) } }),
  )
  let stopping = false
  const stop = () => {
    stopping = true
    for (const child of children) child.stop()
  }
  process.on('SIGTERM', stop)
  process.on('SIGINT', stop)
  const ends = children.map(child => child.ended)
  const ended = Promise.race(ends)
    .then(() => {
      if (!stopping) stop() // a second signal would cut the drain of the others short
      return Promise.all(ends)
    })
    .finally(() => {
      process.off('SIGTERM', stop)
      process.off('SIGINT', stop)
    })
  return {
    ended,
    async metrics() {
      const texts = await Promise.all(children.map(child => child.ask('metrics')))
      return mergeExpositions(texts.map(text => text ?? ''))
    },
    async health() {
      return mergeHealth(await Promise.all(children.map(child => child.ask('health'))))
    },
  }
}

function mergeHealth(answers: readonly (Health | null)[]): Health {
  const reasons = answers.flatMap((health, index) => {
    const found = health === null ? ['does not answer: starting, blocked or restarted'] : health.reasons
    return answers.length === 1 ? found : found.map(reason => `process ${index + 1}: ${reason}`)
  })
  return {
    ready: answers.every(health => health?.ready === true),
    reasons,
    oldestUnfinishedSeconds: largest(answers.map(health => health?.oldestUnfinishedSeconds)),
    stalledSeconds: largest(answers.map(health => health?.stalledSeconds)),
  }
}

function largest(values: readonly (number | null | undefined)[]): number | null {
  const known = values.filter(value => value != null)
  return known.length === 0 ? null : Math.max(...known)
}
