/** Members of a captured change that say at which commit it was made. */
const commitFields: ReadonlySet<string> = new Set([
  'lsn',
  'change_lsn',
  'commit_lsn',
  'scn',
  'commit_scn',
  'txId',
  'transaction_id',
  'gtid',
  'file',
  'pos',
  'row',
  'sequence',
  'event_serial_no',
  'ts_ms',
  'ts_us',
  'ts_ns',
])

type Members = Readonly<Record<string, unknown>>

const membersOf = (value: unknown): Members | null =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Members) : null

/**
 * A change as connectors of databases write it, `op` with `before` or `after`, perhaps below `payload`; and
 * the same change of another commit. `later` is null if the change has no commit metadata. Null for any other
 * message.
 */
export function capturedChange(body: unknown): { readonly later: unknown } | null {
  const outer = membersOf(body)
  const inner = membersOf(outer?.payload)
  const change = isChange(outer) ? outer : isChange(inner) ? inner : null
  if (change === null) return null
  const source = membersOf(change.source)
  const moved = source === null ? null : movedOn(source)
  if (moved === null) return { later: null }
  const later = { ...change, source: moved }
  return { later: change === outer ? later : { ...outer, payload: later } }
}

function isChange(members: Members | null): members is Members {
  return typeof members?.op === 'string' && ('before' in members || 'after' in members)
}

function movedOn(source: Members): Members | null {
  const named = Object.entries(source).filter(([name, value]) => commitFields.has(name) && value != null)
  if (named.length === 0) return null
  return { ...source, ...Object.fromEntries(named.map(([name, value]) => [name, other(value)])) }
}

/** Another value of the same type. */
function other(value: unknown): unknown {
  if (typeof value === 'number') return value + 1
  return typeof value === 'string' ? `${value}1` : value
}
