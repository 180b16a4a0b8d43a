import type { Retention } from '../../contract/retention.ts'
import { type KindTerm, kinds } from '../../drivers/postgres/retention/kinds.ts'

/** Kinds whose rows have the id of a message, and with it a tenant. */
const withoutTenant: ReadonlySet<string> = new Set(['receipts', 'heldActions'])

/** The kinds a contract removes at all. With terms by tenant, `keepMs` is the shortest. */
export function termsOf(retention: Retention): readonly KindTerm[] {
  return kinds.flatMap(kind => {
    const keepMs = retention[kind.kind]
    if (keepMs === null) return []
    const { tenants, tenantSeparator } = retention
    if (tenants === null || withoutTenant.has(kind.kind)) return [{ kind, keepMs }]
    const shortestMs = Math.min(keepMs, ...Object.values(tenants))
    const later = Object.entries(tenants).map(([name, ms]) => [name, ms - shortestMs])
    const tenancy = {
      separator: tenantSeparator!,
      laterMs: Object.fromEntries(later),
      othersLaterMs: keepMs - shortestMs,
    }
    return [{ kind, keepMs: shortestMs, tenancy }]
  })
}
