import type { Context, Moved } from './apply-facts.ts'
import type { ProjectionHandler } from './declaration.ts'
import type { Table } from './describe-table.ts'
import type { ProjectionTable } from './plan.ts'
import type { KeyFacts } from './read-facts.ts'

/** Runs all keys concurrently, so their statements are sent without waiting for each other. */
export async function runHandlers<M>(
  handle: ProjectionHandler<M>,
  { table }: ProjectionTable<M>,
  moved: readonly Moved<M>[],
  { tx, signal, log }: Context<M>,
): Promise<void> {
  const calls = moved.map(async ({ key, steps }) => {
    const facts = steps.map(({ fact: { version, message, item, deletes } }) => ({
      version,
      message,
      item,
      deletes,
    }))
    await handle({ key: namedParts(table, key), facts, tx, signal, log })
  })
  const results = await Promise.allSettled(calls)
  const failed = results.find(result => result.status === 'rejected')
  if (failed !== undefined) throw failed.reason
}

export function namedParts<M>({ keys }: Table, { parts }: KeyFacts<M>): Record<string, string> {
  return Object.fromEntries(keys.map(({ plainName }, index) => [plainName, parts[index]!]))
}
