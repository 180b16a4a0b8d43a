import { firstSet } from './0001-first-set/index.ts'
import { evidence } from './0002-evidence/index.ts'
import { tenants } from './0003-tenants/index.ts'
import { consoleRefusals } from './0004-console.ts'
import { brakes } from './0005-brakes.ts'
import { firstSeen } from './0006-first-seen.ts'
import { eraseAudit } from './0007-erase-audit.ts'
import { consoleActs } from './0008-console-acts/index.ts'
import { pages } from './0009-pages.ts'
import { tenantApproval } from './0010-tenant-approval.ts'
import { unknownSchemas } from './0011-unknown-schemas.ts'
import { publishFunctions } from './0012-publish.ts'

export interface Migration {
  readonly version: number
  readonly name: string
  readonly sql: string
  /** The oldest version of the code that works on this schema. */
  readonly compatibleFrom: number
}

/**
 * Forward only. A migration that has landed is never edited, because databases already have it. The next
 * change is a new migration; test/store/migrations-append-only.test.ts has the digest of each.
 *
 * A function that is replaced loses its search path and its rights. The migration sets the search path again,
 * and calls `onceward.create_roles()` if the database has the roles. A new function gets a row in
 * `onceward.function_right`, unless only processes call it.
 */
export const migrations: readonly Migration[] = [
  { version: 1, name: 'first set', sql: firstSet, compatibleFrom: 1 },
  { version: 2, name: 'evidence', sql: evidence, compatibleFrom: 1 },
  { version: 3, name: 'tenants', sql: tenants, compatibleFrom: 1 },
  { version: 4, name: 'console', sql: consoleRefusals, compatibleFrom: 1 },
  { version: 5, name: 'brakes', sql: brakes, compatibleFrom: 1 },
  { version: 6, name: 'first seen', sql: firstSeen, compatibleFrom: 1 },
  { version: 7, name: 'erase audit', sql: eraseAudit, compatibleFrom: 1 },
  { version: 8, name: 'console acts', sql: consoleActs, compatibleFrom: 1 },
  { version: 9, name: 'pages', sql: pages, compatibleFrom: 1 },
  { version: 10, name: 'tenant approval', sql: tenantApproval, compatibleFrom: 1 },
  { version: 11, name: 'unknown schemas', sql: unknownSchemas, compatibleFrom: 1 },
  { version: 12, name: 'publish', sql: publishFunctions, compatibleFrom: 1 },
]
