import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { get, type Json } from '../api.ts'
import { overview } from '../live.ts'
import { Card, Empty, Head, Problem, Table } from '../parts/layout.tsx'
import { Loaded, useLoad } from '../parts/load.tsx'
import { counted } from '../parts/numbers.ts'
import { Badge, Copy, Who } from '../parts/text.tsx'
import { Time } from '../parts/time.tsx'
import { go, place } from '../router.ts'

/** The chain is verified when the page opens: every hash is computed again by the server. */
export function AuditPage() {
  const consumer = place.value.query.get('consumer') ?? ''
  const verdict = useSignal<Json | null>(null)
  const problem = useSignal<string | null>(null)
  const busy = useSignal(false)
  const verify = async () => {
    busy.value = true
    try {
      verdict.value = await get('audit/verify')
      problem.value = null
    } catch (error) {
      problem.value = `The chain was not verified: ${(error as Error).message}`
    }
    busy.value = false
  }
  useEffect(() => void verify(), [])
  return (
    <div class="stack">
      <Head title="Audit" about="What people did, and what was refused, in one chain of hashes">
        <button class="button" type="button" disabled={busy.value} onClick={() => void verify()}>
          {busy.value ? 'Verifying…' : 'Verify the chain'}
        </button>
      </Head>
      <Problem text={problem.value} />
      {(verdict.value !== null || problem.value === null) && <Verdict of={verdict.value} />}
      <Rows key={consumer} consumer={consumer} />
    </div>
  )
}

function Verdict({ of }: { readonly of: Json | null }) {
  if (of === null) return <p class="notice">The chain is being verified…</p>
  if (of.problems.length === 0)
    return (
      <div class="notice ok row" role="status">
        <span class="grow">
          <b>The chain is intact</b>: {counted(of.rows, 'row')}.
          {of.rows > 0 && (
            <>
              {' '}
              Keep its head outside this database: <code>{of.head}</code>
            </>
          )}
        </span>
        {of.rows > 0 && <Copy text={of.head} what="the head" />}
      </div>
    )
  return (
    <div class="notice crit" role="alert">
      <b>The chain is broken.</b> Keep this page and a backup, and call the security team.
      {of.problems.map((problem: Json) => (
        <p>{problem.text}</p>
      ))}
    </div>
  )
}

function Rows({ consumer }: { readonly consumer: string }) {
  const query = consumer === '' ? '' : `consumer=${encodeURIComponent(consumer)}`
  const load = useLoad(`audit?${query}`)
  const more = useSignal<readonly Json[]>([])
  const next = useSignal<string | null | undefined>(undefined)
  const loadMore = async (before: string) => {
    const found = await get(`audit?${query}&before=${before}`)
    more.value = [...more.value, ...found.rows]
    next.value = found.next
  }
  return (
    <Loaded of={load}>
      {found => {
        const rows = [...found.rows, ...more.value]
        const before = next.value === undefined ? found.next : next.value
        return (
          <Card title="Newest first" side={<ConsumerFilter value={consumer} />} bare>
            {rows.length === 0 ? (
              <Empty title="The audit is empty.">Every act and every refusal appears here.</Empty>
            ) : (
              <AuditTable rows={rows} />
            )}
            {before !== null && (
              <div class="in">
                <button class="button" type="button" onClick={() => void loadMore(before)}>
                  Load more
                </button>
              </div>
            )}
          </Card>
        )
      }}
    </Loaded>
  )
}

function ConsumerFilter({ value }: { readonly value: string }) {
  const names = [...new Set<string>((overview.value?.consumers ?? []).map(({ name }: Json) => name))]
  return (
    <label class="row small">
      <span class="muted">Consumer</span>
      <select
        class="select"
        value={value}
        onChange={event => {
          const name = event.currentTarget.value
          go(name === '' ? 'audit' : `audit?consumer=${encodeURIComponent(name)}`)
        }}
      >
        <option value="">all</option>
        {names.map(name => (
          <option value={name}>{name}</option>
        ))}
      </select>
    </label>
  )
}

function AuditTable({ rows }: { readonly rows: readonly Json[] }) {
  return (
    <Table head={['-Row', 'When', 'Who', 'What', 'Outcome', 'Consumer', 'Reason']}>
      {rows.map(row => (
        <tr>
          <td class="wide-only muted">{row.seq}</td>
          <td>
            <Time at={row.at} both />
          </td>
          <td>
            <Who actor={row.actor} />
          </td>
          <td>
            {row.action}
            <Subject of={row} />
          </td>
          <td>
            <Badge state={row.outcome} />
          </td>
          <td>{row.consumer}</td>
          <td class="small wrap">
            <bdi>{row.reason}</bdi>
          </td>
        </tr>
      ))}
    </Table>
  )
}

/** The row as it was hashed, for those who look closer. */
function Subject({ of }: { readonly of: Json }) {
  const detail = typeof of.detail === 'string' ? of.detail : JSON.stringify(of.detail ?? {})
  return (
    <details class="small muted">
      <summary>
        <span class="clip">{of.subject ?? 'detail'}</span>
      </summary>
      <pre>{[of.actor, of.subject, detail].filter(Boolean).join('\n')}</pre>
    </details>
  )
}
