import { spine } from './0001-spine.ts'
import { failure } from './0002-failure.ts'

export interface Migration {
  readonly version: number
  readonly name: string
  readonly sql: string
  /** Oldest code that still works on a schema at this version. */
  readonly compatibleFrom: number
}

/** Forward only; a released migration is never edited. */
export const migrations: readonly Migration[] = [
  { version: 1, name: 'spine', sql: spine, compatibleFrom: 1 },
  { version: 2, name: 'failure', sql: failure, compatibleFrom: 1 },
]
