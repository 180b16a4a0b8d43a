import type { Json } from '../api.ts'
import { overview } from '../overview-state.ts'
import { Badge, count, Time } from './text.tsx'

/** Messages that failed alike. A group is a search for its cause. */
export function Groups({ q, choose }: { readonly q: string; readonly choose: (q: string) => void }) {
  const groups: readonly Json[] = overview.value?.groups ?? []
  const consumer = /(?:^|\s)consumer:(\S+)/.exec(q)?.[1]
  const shown = groups.filter(group => consumer === undefined || group.consumer === consumer).slice(0, 12)
  if (shown.length === 0) return null
  return (
    <div class="groups" role="group" aria-label="Groups by cause">
      {shown.map(group => {
        const search = `consumer:${group.consumer} state:${group.state} cause:${group.cause}`
        const pressed = q === search
        return (
          <button
            class="group"
            type="button"
            aria-pressed={pressed}
            onClick={() => choose(pressed ? `consumer:${group.consumer}` : search)}
          >
            <div class="row">
              <b>{count(group.count)}</b>
              <Badge state={group.state} />
            </div>
            <span class="mono">{group.code}</span>
            <span class="small muted cut">
              {group.consumer} · oldest <Time at={group.oldestAt} />
            </span>
          </button>
        )
      })}
    </div>
  )
}
