import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import pg from 'pg'
import { currentCall } from './handler-calls.ts'
import type { Leak } from './orders.ts'

export interface StatementWatcher {
  /** A statement of the handler, or of a declared effect, was answered. */
  readonly onAnswered: (text: string) => void
  readonly onLeak: (leak: Leak) => void
  /** True between the markers of a batch and its conclusion: a declared effect sends its statements there. */
  readonly isApplying: () => boolean
}

type Query = (this: object, ...given: unknown[]) => unknown

/** Clients on which a transaction of the store is open. */
const ours = new WeakSet<object>()
/** Clients with a transaction that is not the store's. */
const foreign = new Map<object, string>()

/** Transactions that a handler began on its own connection and did not end. */
export const openTransactions = (): readonly string[] => [...foreign.values()]

/** Watches every statement that passes through `pg`, also in another copy that the consumer uses. */
export function watchStatements(consumerFile: string, watcher: StatementWatcher): void {
  const copies = new Set([pg.Client.prototype])
  try {
    const theirs = createRequire(pathToFileURL(consumerFile))('pg') as typeof pg
    copies.add(theirs.Client.prototype)
  } catch {
    // The module uses no pg of its own.
  }
  for (const prototype of copies) {
    const real = prototype.query as Query
    prototype.query = function (this: object, ...given: unknown[]) {
      return sent(this, given, real, watcher)
    } as never
  }
}

function sent(client: object, given: unknown[], real: Query, watcher: StatementWatcher): unknown {
  const text = textOf(given[0])
  if (text.includes('onceward.run =')) ours.add(client)
  const call = currentCall()
  const isOurs = ours.has(client)
  if (call !== undefined && !isOurs) foreignStatement(client, text, watcher)
  if (isOurs && /^\s*(commit|rollback(?!\s+to))\b/i.test(text)) ours.delete(client)
  const answer = real.apply(client, given)
  const counts = call !== undefined || (isOurs && watcher.isApplying() && !internal.test(text))
  if (counts && isPromise(answer))
    answer.then(
      () => watcher.onAnswered(text),
      () => {},
    )
  return answer
}

/** Statements of the store around those of the handler. */
const internal = /\bonceward\.|^\s*(begin|commit|rollback|savepoint|release|select 1 \/)/i

function foreignStatement(client: object, text: string, { onLeak }: StatementWatcher): void {
  if (/^\s*(begin|start\s+transaction)\b/i.test(text)) foreign.set(client, text)
  else if (/^\s*(commit|end|rollback|abort)\b/i.test(text)) foreign.delete(client)
  onLeak({ kind: 'other connection', what: text.trim().replaceAll(/\s+/g, ' ').slice(0, 120) })
}

function textOf(query: unknown): string {
  if (typeof query === 'string') return query
  const text = (query as { text?: unknown } | null)?.text
  return typeof text === 'string' ? text : ''
}

const isPromise = (value: unknown): value is Promise<unknown> =>
  typeof (value as { then?: unknown } | null)?.then === 'function'
