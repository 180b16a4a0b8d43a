import type { Retention } from '../../contract/retention.ts'
import { type KindTerm, kinds } from '../../drivers/postgres/retention/kinds.ts'

/** The kinds a contract removes at all. */
export function termsOf(retention: Retention): readonly KindTerm[] {
  return kinds.flatMap(kind => {
    const keepMs = retention[kind.kind]
    return keepMs === null ? [] : [{ kind, keepMs }]
  })
}
