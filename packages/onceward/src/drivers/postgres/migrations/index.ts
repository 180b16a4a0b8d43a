import { firstSet } from './0001-first-set/index.ts'

export interface Migration {
  readonly version: number
  readonly name: string
  readonly sql: string
  /** Oldest code that still works on a schema at this version. */
  readonly compatibleFrom: number
}

/**
 * Forward only. A migration that has landed is never edited: databases have it already. The next change is a
 * new one, and test/store/migrations-append-only.test.ts has the digest of each.
 *
 * A function that is made anew loses its search path and its rights: the migration states the search path
 * again, and calls `onceward.create_roles()` where this database has the roles. New functions get a row in
 * `onceward.function_right`, unless processes alone call them.
 */
export const migrations: readonly Migration[] = [
  { version: 1, name: 'first set', sql: firstSet, compatibleFrom: 1 },
]
