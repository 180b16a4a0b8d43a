import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { get, type Json } from '../api.ts'
import { overview } from '../overview-state.ts'
import { type Act, ActDialog } from '../parts/act-dialog.tsx'
import { Groups } from '../parts/groups.tsx'
import { Badge, Card, count, Empty, Head, Time } from '../parts/text.tsx'
import { go, place } from '../router.ts'
import { may, session } from '../session.ts'

const hints = [
  'consumer:',
  'state:parked',
  'code:',
  'class:',
  'key:',
  'business:',
  'type:',
  'since:2h',
  'until:',
  'payload.',
]

/** Everything held, by a search that is in the address. */
export function MessagesPage() {
  const q = place.value.query.get('q') ?? ''
  const typed = useSignal(q)
  const rows = useSignal<Json[]>([])
  const next = useSignal<string | null>(null)
  const problem = useSignal<string | null>(null)
  const loading = useSignal(true)
  const complete = useSignal(true)
  const picked = useSignal<ReadonlySet<string>>(new Set())
  const act = useSignal<Act | null>(null)

  const load = async (before: string | null) => {
    loading.value = true
    try {
      const query = new URLSearchParams({ q, ...(before !== null && { before }) })
      const found = await get(`messages?${query}`)
      rows.value = before === null ? found.rows : [...rows.value, ...found.rows]
      next.value = found.next
      complete.value = found.complete
      problem.value = null
    } catch (error) {
      problem.value = (error as Error).message
    }
    loading.value = false
  }
  useEffect(() => {
    typed.value = q
    picked.value = new Set()
    void load(null)
  }, [q])

  // While nobody selects or reads on, the first page follows the database.
  const counts = JSON.stringify(
    (overview.value?.groups ?? []).map(({ cause, state, count }: Json) => [cause, state, count]),
  )
  const seen = useRef(counts)
  useEffect(() => {
    if (seen.current === counts) return
    seen.current = counts
    if (picked.value.size === 0 && act.value === null && rows.value.length <= 50) void load(null)
  }, [counts])

  const search = (text: string) => go(text === '' ? 'messages' : `messages?q=${encodeURIComponent(text)}`)
  const chosen = rows.value.filter(({ id }) => picked.value.has(id))
  const consumers = [...new Set(chosen.map(({ consumer }) => consumer))]
  const all = /(?:^|\s)consumer:("[^"]+"|\S+)/.exec(q)?.[1]?.replaceAll('"', '')
  const begin = (verb: Act['verb'], whole: boolean) => {
    const consumer = whole ? all! : consumers[0]!
    act.value = whole ? { verb, consumer, q } : { verb, consumer, ids: chosen.map(({ id }) => id) }
  }
  const exported = (format: string) => `api/messages/export?${new URLSearchParams({ q, format })}`

  return (
    <div class="stack">
      <Head title="Messages" about="Messages that were set aside, with everything needed to try them again">
        <a class="button" href={exported('csv')} download="messages.csv">
          Export CSV
        </a>
        <a class="button" href={exported('json')} download="messages.json">
          Export JSON
        </a>
      </Head>
      <form
        class="stack tight"
        role="search"
        onSubmit={event => {
          event.preventDefault()
          search(typed.value.trim())
        }}
      >
        <div class="search">
          <input
            aria-label="Search held messages"
            placeholder={
              session.value?.payload === 'full'
                ? 'consumer:orders code:no_account since:2h "text in the payload"'
                : 'consumer:orders code:no_account since:2h'
            }
            value={typed.value}
            spellcheck={false}
            onInput={event => (typed.value = event.currentTarget.value)}
          />
          <button class="button primary" type="submit">
            Search
          </button>
          {q !== '' && (
            <button class="button" type="button" onClick={() => search('')}>
              Clear
            </button>
          )}
        </div>
        <div class="chips" role="group" aria-label="Qualifiers">
          {hints.map(hint => (
            <button
              class="chip"
              type="button"
              onClick={event => {
                typed.value = `${typed.value} ${hint}`.trim()
                event.currentTarget.closest('form')?.querySelector('input')?.focus()
              }}
            >
              {hint}
            </button>
          ))}
        </div>
      </form>
      <Groups q={q} choose={search} />
      {problem.value !== null && (
        <p class="notice crit" role="alert">
          {problem.value}
        </p>
      )}
      {!complete.value && (
        <p class="notice warn">The search stopped after two seconds. Narrow it, or load more to continue.</p>
      )}
      <Card
        title={q === '' ? 'All held messages' : 'Matching messages'}
        bare
        side={
          may('operator') &&
          all !== undefined &&
          rows.value.length > 0 && (
            <div class="row">
              <span class="small muted">All that match:</span>
              <button type="button" class="button" onClick={() => begin('redrive', true)}>
                Redrive all…
              </button>
              <button type="button" class="button" onClick={() => begin('skip', true)}>
                Skip all…
              </button>
            </div>
          )
        }
      >
        {rows.value.length === 0 ? (
          <Empty>{loading.value ? 'Loading…' : 'No messages need attention.'}</Empty>
        ) : (
          <MessageTable rows={rows.value} picked={picked.value} pick={ids => (picked.value = ids)} />
        )}
        {next.value !== null && (
          <div class="in row">
            <button
              class="button"
              type="button"
              disabled={loading.value}
              onClick={() => void load(next.value)}
            >
              Load more
            </button>
            <span class="muted small">{count(rows.value.length)} shown</span>
          </div>
        )}
        {chosen.length > 0 && (
          <div class="actions" role="toolbar" aria-label="Acts on the selection">
            <b>{count(chosen.length)} selected</b>
            {consumers.length > 1 ? (
              <span class="muted">Select messages of one consumer to act on them.</span>
            ) : (
              <>
                <button class="button primary" type="button" onClick={() => begin('redrive', false)}>
                  Redrive…
                </button>
                <button class="button" type="button" onClick={() => begin('skip', false)}>
                  Skip…
                </button>
                <button class="button" type="button" onClick={() => begin('classify', false)}>
                  Classify…
                </button>
                <button class="button danger" type="button" onClick={() => begin('delete', false)}>
                  Delete…
                </button>
              </>
            )}
          </div>
        )}
      </Card>
      {act.value !== null && (
        <ActDialog
          act={act.value}
          close={() => (act.value = null)}
          done={() => {
            picked.value = new Set()
            void load(null)
          }}
        />
      )}
    </div>
  )
}

function MessageTable(props: {
  readonly rows: readonly Json[]
  readonly picked: ReadonlySet<string>
  readonly pick: (ids: ReadonlySet<string>) => void
}) {
  const { rows, picked, pick } = props
  const toggle = (id: string) => {
    const ids = new Set(picked)
    if (!ids.delete(id)) ids.add(id)
    pick(ids)
  }
  const canAct = may('operator')
  return (
    <div class="scroll">
      <table>
        <thead>
          <tr>
            {canAct && (
              <th>
                <input
                  type="checkbox"
                  aria-label="Select all shown"
                  checked={picked.size === rows.length}
                  onChange={() =>
                    pick(picked.size === rows.length ? new Set() : new Set(rows.map(({ id }) => id)))
                  }
                />
              </th>
            )}
            <th>Message</th>
            <th>State</th>
            <th>Reason</th>
            <th class="wide-only">Key</th>
            <th class="wide-only num">Attempts</th>
            <th>Held</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(row => (
            <tr key={row.id} aria-selected={picked.has(row.id)}>
              {canAct && (
                <td>
                  <input
                    type="checkbox"
                    aria-label={`Select message ${row.id}`}
                    checked={picked.has(row.id)}
                    onChange={() => toggle(row.id)}
                  />
                </td>
              )}
              <td>
                <a href={`messages/${row.id}`} class="mono">
                  <bdi>{row.messageId ?? `no id (${row.id})`}</bdi>
                </a>
                <div class="small muted">{row.consumer}</div>
              </td>
              <td>
                <Badge state={row.state} />
              </td>
              <td>
                <div class="mono small">{row.code}</div>
                <div class="cut small muted" title={row.reason}>
                  <bdi>{row.fixWaits ?? row.reason}</bdi>
                </div>
                {(row.label !== null || row.assignee !== null) && (
                  <div class="small">
                    {row.label} {row.assignee !== null && <span class="muted">· {row.assignee}</span>}
                  </div>
                )}
              </td>
              <td class="wide-only mono small">
                <div class="cut">
                  <bdi>{row.key ?? '–'}</bdi>
                </div>
              </td>
              <td class="wide-only num">{row.attempts}</td>
              <td class="small">
                <Time at={row.firstAt} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
