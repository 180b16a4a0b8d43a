import type { SqlPool } from '../pool.ts'

/** A recorded fix. The bodies are null for a fix made elsewhere, and when they are larger than `bytesMax`. */
export interface HeldFix {
  readonly id: string
  readonly at: Date
  readonly by: string
  readonly kind: 'payload' | 'state'
  readonly because: string
  readonly before: Buffer | null
  readonly after: Buffer | null
}

/** A fix keeps the bytes it replaced: those it wrote are kept by the next one, or are the current ones. */
const fixes = `
  with fix as (
    select f.id, f.at, f.actor, f.kind, f.reason, f.body_before as before,
      coalesce(lead(f.body_before) over (partition by f.kind order by f.id), h.body) as after
    from onceward.fix f join onceward.held h on h.id = f.held_id where f.held_id = $1)
  select id::text, at, actor as by, kind, reason as because,
    case when kind = 'payload' and octet_length(before) <= $2 and octet_length(after) <= $2 then before end as before,
    case when kind = 'payload' and octet_length(before) <= $2 and octet_length(after) <= $2 then after end as after
  from fix order by fix.id limit $3`

/** Oldest first. */
export async function readFixes(
  pool: SqlPool,
  heldId: string,
  limits: { readonly bytesMax: number; readonly countMax: number },
): Promise<readonly HeldFix[]> {
  return (await pool.query(fixes, [heldId, limits.bytesMax, limits.countMax])).rows
}
