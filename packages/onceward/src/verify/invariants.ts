import { pathToFileURL } from 'node:url'
import type { SqlClient } from '../drivers/postgres/pool.ts'
import { errorText, OncewardError } from '../errors.ts'
import type { SnapshotRow } from './snapshot.ts'

/** Reads the scratch database after a run. */
export type InvariantQuery = (text: string, values?: readonly unknown[]) => Promise<readonly SnapshotRow[]>

/** A statement that returns the rows that break the rule, or a function that does. */
export type Invariant = string | ((query: InvariantQuery) => Promise<readonly SnapshotRow[]>)

export interface BrokenInvariant {
  readonly name: string
  readonly rows: readonly SnapshotRow[]
}

/** The invariants that do not hold. A statement that fails breaks its invariant. */
export async function brokenInvariants(
  client: SqlClient,
  invariants: Readonly<Record<string, Invariant>>,
): Promise<BrokenInvariant[]> {
  const query: InvariantQuery = async (text, values) => (await client.query(text, values)).rows
  const broken: BrokenInvariant[] = []
  for (const [name, invariant] of Object.entries(invariants)) {
    const rows = await (typeof invariant === 'string' ? query(invariant) : invariant(query)).catch(error => [
      { error: errorText(error) },
    ])
    if (rows.length > 0) broken.push({ name, rows })
  }
  return broken
}

/** The functions that a module exports, by name. */
export async function loadInvariants(file: string): Promise<Record<string, Invariant>> {
  const module = await import(pathToFileURL(file).href).catch(cause => {
    throw new OncewardError('usage', `${file} cannot be loaded: ${errorText(cause)}. Nothing was run.`, {
      cause,
    })
  })
  const found = Object.entries(module as Record<string, unknown>).filter(
    ([, value]) => typeof value === 'function',
  )
  if (found.length > 0) return Object.fromEntries(found) as Record<string, Invariant>
  throw new OncewardError(
    'usage',
    `${file} exports no function. An invariant is "export async function name(query) { return query('select …') }", and returns the rows that break it. Nothing was run.`,
  )
}
