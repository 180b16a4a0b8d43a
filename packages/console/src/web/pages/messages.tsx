import { useSignal } from '@preact/signals'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import type { Json } from '../api.ts'
import { useHeldSearch } from '../held-search.ts'
import { overview } from '../live.ts'
import { type Act, ActDialog } from '../parts/act-dialog.tsx'
import { Groups } from '../parts/groups.tsx'
import { HeldTable } from '../parts/held-table.tsx'
import { Card, Empty, Head, Problem } from '../parts/layout.tsx'
import { count } from '../parts/numbers.ts'
import { SearchBar } from '../parts/search-bar.tsx'
import { Copy } from '../parts/text.tsx'
import { go, place } from '../router.ts'
import { may } from '../session.ts'

/** Everything held, by a search that is in the address. */
export function MessagesPage() {
  const q = place.value.query.get('q') ?? ''
  const found = useHeldSearch(q)
  const { rows, next, loading } = found
  const picked = useSignal<ReadonlySet<string>>(new Set())
  const act = useSignal<Act | null>(null)
  useLayoutEffect(() => {
    picked.value = new Set()
  }, [q])
  useFollow(() =>
    found.refresh(() => picked.value.size === 0 && act.value === null && rows.value.length <= 50),
  )

  const afresh = () => {
    picked.value = new Set()
    void found.load(null)
  }
  const search = (text: string) => go(text === '' ? 'messages' : `messages?q=${encodeURIComponent(text)}`)
  const chosen = rows.value.filter(({ id }) => picked.value.has(id))
  const consumers = [...new Set(chosen.map(({ consumer }) => consumer as string))]
  const only = consumerOf(q)
  const begin = (verb: Act['verb'], whole: boolean) => {
    act.value = whole
      ? { verb, consumer: only!, q }
      : { verb, consumer: consumers[0]!, ids: chosen.map(({ id }) => id) }
  }
  return (
    <div class="stack">
      <Head title="Messages" about="Messages that were set aside, with everything needed to try them again">
        <Exports q={q} />
      </Head>
      <SearchBar q={q} search={search} loading={loading.value} cancel={found.cancel} />
      <Groups q={q} choose={search} />
      <Problem text={found.problem.value} />
      {!found.complete.value && (
        <p class="notice warn" role="status">
          The search was stopped before its end: more messages may match. Narrow it, or{' '}
          {next.value === null ? 'search again' : 'load more to continue'}.
        </p>
      )}
      <Card
        title={q === '' ? 'All held messages' : 'Matching messages'}
        bare
        side={may('operator') && only !== undefined && rows.value.length > 0 && <WholeActs begin={begin} />}
      >
        {found.problem.value !== null && rows.value.length === 0 ? (
          <Empty>Nothing was searched.</Empty>
        ) : rows.value.length === 0 ? (
          <NoRows loading={loading.value} q={q} complete={found.complete.value} />
        ) : (
          <HeldTable rows={rows.value} picked={picked.value} pick={ids => (picked.value = ids)} />
        )}
        {next.value !== null && (
          <div class="in row">
            <button
              class="button"
              type="button"
              disabled={loading.value}
              onClick={() => void found.load(next.value)}
            >
              {loading.value ? 'Loading…' : 'Load more'}
            </button>
            <span class="muted small">{count(rows.value.length)} shown, newest first</span>
          </div>
        )}
        {chosen.length > 0 && <ChosenActs chosen={chosen} consumers={consumers} begin={begin} />}
      </Card>
      {act.value !== null && (
        <ActDialog act={act.value} close={() => (act.value = null)} done={afresh} refused={afresh} />
      )}
    </div>
  )
}

/** Calls `onChange` when the counts of held messages change. */
function useFollow(onChange: () => void): void {
  const counts = JSON.stringify(
    (overview.value?.groups ?? []).map(({ cause, state, count }: Json) => [cause, state, count]),
  )
  const seen = useRef(counts)
  useEffect(() => {
    if (seen.current === counts) return
    seen.current = counts
    onChange()
  }, [counts])
}

function consumerOf(q: string): string | undefined {
  return /(?:^|\s)consumer:("[^"]+"|\S+)/.exec(q)?.[1]?.replaceAll('"', '')
}

function Exports({ q }: { readonly q: string }) {
  const file = (format: string) => `api/messages/export?${new URLSearchParams({ q, format })}`
  return (
    <>
      <Copy text={() => location.href} what="the address of this search" verb="Copy link" />
      <a class="button" href={file('csv')} download="messages.csv">
        Export CSV
      </a>
      <a class="button" href={file('json')} download="messages.json">
        Export JSON
      </a>
    </>
  )
}

function NoRows(props: { readonly loading: boolean; readonly q: string; readonly complete: boolean }) {
  const { loading, q, complete } = props
  if (loading) return <Empty>Loading…</Empty>
  if (!complete) return <Empty title="Nothing was found so far.">Not every message was looked at.</Empty>
  return q === '' ? (
    <Empty title="No messages need attention.">Every message so far was applied or ignored.</Empty>
  ) : (
    <Empty title="No held message matches.">
      It may have been redriven, skipped or deleted: the <a href="audit">audit</a> has every act.
    </Empty>
  )
}

type Begin = (verb: Act['verb'], whole: boolean) => void

function WholeActs({ begin }: { readonly begin: Begin }) {
  return (
    <div class="row" role="toolbar" aria-label="Acts on all that match">
      <span class="small muted">All that match:</span>
      <button type="button" class="button small" onClick={() => begin('redrive', true)}>
        Redrive all…
      </button>
      <button type="button" class="button small" onClick={() => begin('skip', true)}>
        Skip all…
      </button>
      <button type="button" class="button small" onClick={() => begin('quarantine', true)}>
        Quarantine all…
      </button>
    </div>
  )
}

function ChosenActs(props: {
  readonly chosen: readonly Json[]
  readonly consumers: readonly string[]
  readonly begin: Begin
}) {
  const { chosen, consumers, begin } = props
  const verbs = [
    ['redrive', 'Redrive…', 'primary'],
    ['skip', 'Skip…', ''],
    ['quarantine', 'Quarantine…', ''],
    ['classify', 'Classify…', ''],
    ['delete', 'Delete…', 'danger'],
  ] as const
  return (
    <div class="actions" role="toolbar" aria-label="Acts on the selection">
      <b>{count(chosen.length)} selected</b>
      {consumers.length > 1 ? (
        <span class="muted">Select messages of one consumer to act on them.</span>
      ) : (
        verbs.map(([verb, title, tone]) => (
          <button class={`button ${tone}`} type="button" onClick={() => begin(verb, false)}>
            {title}
          </button>
        ))
      )}
    </div>
  )
}
