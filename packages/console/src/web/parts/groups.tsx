import { useSignal } from '@preact/signals'
import type { Json } from '../api.ts'
import { overview } from '../live.ts'
import { count } from './numbers.ts'
import { Badge } from './text.tsx'
import { Time } from './time.tsx'

const shownFirst = 8

/** Messages that failed alike. A group is a search for its cause. */
export function Groups({ q, choose }: { readonly q: string; readonly choose: (q: string) => void }) {
  const all = useSignal(false)
  const consumer = /(?:^|\s)consumer:(\S+)/.exec(q)?.[1]
  const groups = ((overview.value?.groups ?? []) as readonly Json[]).filter(
    group => consumer === undefined || group.consumer === consumer,
  )
  if (groups.length === 0) return null
  const shown = all.value ? groups : groups.slice(0, shownFirst)
  return (
    <div class="stack tight">
      <div class="groups" role="group" aria-label="Groups by cause">
        {shown.map(group => (
          <Group key={searchOf(group)} of={group} q={q} choose={choose} />
        ))}
      </div>
      {groups.length > shown.length && (
        <div>
          <button class="button plain small" type="button" onClick={() => (all.value = true)}>
            {count(groups.length - shown.length)} more groups
          </button>
        </div>
      )}
    </div>
  )
}

const searchOf = ({ consumer, state, cause }: Json) => `consumer:${consumer} state:${state} cause:${cause}`

function Group(props: { readonly of: Json; readonly q: string; readonly choose: (q: string) => void }) {
  const { of, q, choose } = props
  const search = searchOf(of)
  const isChosen = q === search
  return (
    <button
      class="group"
      type="button"
      aria-pressed={isChosen}
      onClick={() => choose(isChosen ? `consumer:${of.consumer}` : search)}
    >
      <span class="row">
        <b>{count(of.count)}</b>
        <Badge state={of.state} />
      </span>
      <span class="id">{of.code}</span>
      <span class="small muted cut" title={of.place}>
        {of.consumer}
      </span>
      <span class="small muted">
        oldest <Time at={of.oldestAt} />
      </span>
    </button>
  )
}
