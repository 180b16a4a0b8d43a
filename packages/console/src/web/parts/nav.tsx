import type { Json } from '../api.ts'
import { overview } from '../live.ts'
import { place } from '../router.ts'
import { inDoubt } from './flow.tsx'
import { count } from './numbers.ts'

/** By what people come for: the incident, history that runs again, what waits outside, the record. */
const groups = [
  [
    ['', 'Overview'],
    ['messages', 'Messages'],
    ['redrives', 'Redrives'],
    ['approvals', 'Approvals'],
  ],
  [
    ['campaigns', 'Campaigns'],
    ['ledger', 'External effects'],
    ['outbox', 'Outbox'],
  ],
  [
    ['decisions', 'Decisions'],
    ['audit', 'Audit'],
  ],
] as const

export function Nav() {
  const at = place.value.path.split('/')[0] ?? ''
  const current = at === 'consumers' ? '' : at
  const counts = countsOf(overview.value)
  return (
    <nav class="nav" aria-label="Sections">
      {groups.map(group => (
        <ul>
          {group.map(([path, title]) => (
            <li>
              <a href={path === '' ? './' : path} aria-current={current === path ? 'page' : undefined}>
                {title}
                {(counts[path] ?? 0) > 0 && <span class="count">{count(counts[path]!)}</span>}
              </a>
            </li>
          ))}
        </ul>
      ))}
    </nav>
  )
}

/** What waits for people, by section. */
function countsOf(found: Json): Readonly<Record<string, number>> {
  if (found === null) return {}
  const asks = (page: string) => found.attention.filter((one: Json) => one.page === page).length
  return {
    messages: found.groups.reduce((sum: number, group: Json) => sum + group.count, 0),
    approvals: found.approvals,
    ledger: found.consumers.reduce((sum: number, one: Json) => sum + inDoubt(one), 0),
    outbox: asks('outbox'),
    decisions: asks('decisions'),
  }
}
