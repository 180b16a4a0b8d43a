import { crashPoints } from '../crash-points.ts'
import { OncewardError } from '../errors.ts'
import type { Trigger } from './child/orders.ts'

/** The classes of faults, in the order of the report. */
export const faultClasses = {
  point: 'killed at a crash point of Onceward',
  statement: 'killed after a statement of the handler',
  rollback: 'connection lost before COMMIT, retried in the same process',
  commit: 'connection lost after COMMIT was sent',
  freeze: 'frozen past its lease, then woken',
  moving: 'work moves to another process and back, as in a rebalance',
  restart: 'the database server restarts',
  processes: 'two processes at once',
  batch: 'all messages in one batch',
  order: 'messages in another order',
  twice: 'every message twice in a row',
  late: 'every message again, after all were applied',
  conflict: 'other content under the same id',
  resent: 'the same operation under another message id',
  campaign: 'replayed by a campaign',
  rebuild: 'rebuilt by a campaign',
  poison: 'unreadable messages beside the others',
} as const

/** A class of faults that `verifyConsumer` stages. */
export type FaultClass = keyof typeof faultClasses

/** One fault of one run. */
export interface Fault {
  readonly class: FaultClass
  /** When it happens; null for classes that concern the whole run. */
  readonly trigger: Trigger | null
  /** Which commit of a batch is interrupted, or which permutation is used. */
  readonly number: number
}

const numbered: readonly FaultClass[] = ['rollback', 'commit', 'order']

/** A fault in one word, as `--fault` takes it: `statement:3`, `point:batch.committed:1`, `twice`. */
export function faultName({ class: kind, trigger, number }: Fault): string {
  if (trigger?.on === 'statement') return `${kind}:${trigger.number}`
  if (trigger?.on === 'point') return `${kind}:${trigger.point}:${trigger.hit}`
  return numbered.includes(kind) ? `${kind}:${number}` : kind
}

export function parseFault(name: string): Fault {
  const [kind, first, second] = name.split(':') as [FaultClass, string?, string?]
  if (!Object.hasOwn(faultClasses, kind)) throw unknown(name)
  if (kind === 'statement' || (first !== undefined && /^\d+$/.test(first) && !numbered.includes(kind)))
    return { class: kind, trigger: { on: 'statement', number: count(first, name) }, number: 1 }
  if (first !== undefined && !numbered.includes(kind)) {
    if (!Object.hasOwn(crashPoints, first)) throw unknown(name)
    const point = first as keyof typeof crashPoints
    return { class: kind, trigger: { on: 'point', point, hit: count(second ?? '1', name) }, number: 1 }
  }
  return { class: kind, trigger: null, number: first === undefined ? 1 : count(first, name) }
}

function count(text: string | undefined, name: string): number {
  if (text === undefined || !/^[1-9]\d{0,6}$/.test(text)) throw unknown(name)
  return Number(text)
}

function unknown(name: string): OncewardError {
  return new OncewardError(
    'usage',
    `"${name}" is not a fault. A fault is a class (${Object.keys(faultClasses).join(', ')}) and its moment, as in statement:3 or point:batch.committed:1. Nothing was run.`,
  )
}
