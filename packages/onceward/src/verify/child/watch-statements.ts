import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import pg from 'pg'
import { StatementWatch } from '../../drivers/postgres/statement-watch.ts'
import { beginsRun } from '../../drivers/postgres/verify/begins-run.ts'
import { currentCall } from './handler-calls.ts'
import type { Leak } from './orders.ts'

export interface StatementWatcher {
  /** A statement of the handler, or of a declared effect, was answered. */
  readonly onAnswered: (text: string) => void
  readonly onLeak: (leak: Leak) => void
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
  watchTransactions(watcher.onAnswered)
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
  if (beginsRun(text)) ours.add(client)
  const call = currentCall()
  const isOurs = ours.has(client)
  if (call !== undefined && !isOurs) foreignStatement(client, text, watcher)
  if (isOurs && /^\s*(commit|rollback(?!\s+to))\b/i.test(text)) ours.delete(client)
  const answer = real.apply(client, given)
  // A statement that bypasses `tx` is a statement of the handler too: a kill after it shows what remains.
  if (call !== undefined && !isOurs && answer instanceof Promise)
    answer.then(
      () => watcher.onAnswered(text),
      () => {},
    )
  return answer
}

type Watch = (this: object, text: string, ...more: unknown[]) => Promise<unknown>

/** Statements on `tx` of handlers and declared effects: those of every store pass the watch of the store. */
function watchTransactions(onAnswered: StatementWatcher['onAnswered']): void {
  const prototype = StatementWatch.prototype as unknown as Record<'watch' | 'watchAnswer', Watch>
  for (const name of ['watch', 'watchAnswer'] as const) {
    const real = prototype[name]
    prototype[name] = function (this: object, text: string, ...more: unknown[]) {
      const answer = real.call(this, text, ...more)
      answer.then(
        () => onAnswered(String(text)),
        () => {},
      )
      return answer
    }
  }
}

function foreignStatement(client: object, text: string, { onLeak }: StatementWatcher): void {
  if (/^\s*(begin|start\s+transaction)\b/i.test(text)) foreign.set(client, text)
  else if (/^\s*(commit|end|rollback|abort)\b/i.test(text)) foreign.delete(client)
  else if (!/^\s*(set|reset|discard|deallocate|listen|unlisten)\b/i.test(text)) {
    const kind = isRead(text) ? 'outside read' : 'other connection'
    onLeak({ kind, what: text.trim().replaceAll(/\s+/g, ' ').slice(0, 120) })
  }
}

/** It takes no locks, and calls no function that is known to change something. */
const isRead = (text: string) =>
  /^\s*(select|with|table|values|show|explain)\b/i.test(text) &&
  !/\b(insert|update|delete|merge|truncate|share|into|nextval|setval|pg_advisory\w*|pg_notify)\b/i.test(text)

function textOf(query: unknown): string {
  if (typeof query === 'string') return query
  const text = (query as { text?: unknown } | null)?.text
  return typeof text === 'string' ? text : ''
}
