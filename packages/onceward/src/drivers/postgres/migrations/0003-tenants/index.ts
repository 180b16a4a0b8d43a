import { dropTenant } from './drop-tenant.ts'
import { leases } from './leases.ts'
import { tenantReceipts } from './tenant-receipts.ts'

/** Rows of one tenant, and when each lease began. */
export const tenants = [leases, tenantReceipts, dropTenant].join('')
