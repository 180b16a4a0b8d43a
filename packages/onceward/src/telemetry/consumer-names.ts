import type { SqlPool } from '../drivers/postgres/pool.ts'
import { readConsumerNames } from '../drivers/postgres/read-consumer-names.ts'
import { nearestName } from '../ports/nearest-name.ts'

/** Null if a consumer of this name has run on this database; otherwise a sentence with the right name. */
export async function whyUnknownConsumer(pool: SqlPool, name: string): Promise<string | null> {
  const names = await readConsumerNames(pool)
  if (names.includes(name)) return null
  const near = nearestName(name, names)
  if (near !== null) return `There is no consumer ${name}. Did you mean ${near}?`
  if (names.length === 0) return `There is no consumer ${name}: none has run yet.`
  return `There is no consumer ${name}. Known are ${names.join(', ')}.`
}
