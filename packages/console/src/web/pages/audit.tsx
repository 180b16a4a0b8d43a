import { useSignal } from '@preact/signals'
import { get, type Json } from '../api.ts'
import { Loaded, useLoad } from '../parts/load.tsx'
import { Badge, Card, count, Empty, Head, Who } from '../parts/text.tsx'

export function AuditPage() {
  const load = useLoad('audit')
  const more = useSignal<Json[]>([])
  const next = useSignal<string | null | undefined>(undefined)
  const verdict = useSignal<Json | null>(null)
  const verify = () => void get('audit/verify').then(found => (verdict.value = found))
  const loadMore = async (before: string) => {
    const found = await get(`audit?before=${before}`)
    more.value = [...more.value, ...found.rows]
    next.value = found.next
  }
  return (
    <div class="stack">
      <Head title="Audit" about="What people did, and what was refused, in one chain of hashes">
        <button class="button" type="button" onClick={verify}>
          Verify the chain
        </button>
      </Head>
      {verdict.value !== null && <Verdict of={verdict.value} />}
      <Loaded of={load}>
        {found => {
          const rows = [...found.rows, ...more.value]
          const before = next.value === undefined ? found.next : next.value
          return (
            <Card title="Newest first" bare>
              {rows.length === 0 ? <Empty>The audit is empty.</Empty> : <AuditTable rows={rows} />}
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
    </div>
  )
}

function Verdict({ of }: { readonly of: Json }) {
  if (of.problems.length === 0)
    return (
      <div class="notice ok" role="status">
        <b>The chain is intact</b>: {count(of.rows)} rows. Keep its head outside this database:{' '}
        <code>{of.head}</code>
      </div>
    )
  return (
    <div class="notice crit" role="alert">
      <b>The chain is broken.</b>
      {of.problems.map((problem: Json) => (
        <p>{problem.text}</p>
      ))}
    </div>
  )
}

function AuditTable({ rows }: { readonly rows: readonly Json[] }) {
  return (
    <div class="scroll">
      <table>
        <thead>
          <tr>
            <th class="num">Row</th>
            <th>When (UTC)</th>
            <th>Who</th>
            <th>What</th>
            <th>Outcome</th>
            <th>Consumer</th>
            <th>Reason</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(row => (
            <tr title={row.detail}>
              <td class="num muted">{row.seq}</td>
              <td class="small">{row.at.slice(0, 19).replace('T', ' ')}</td>
              <td>
                <Who actor={row.actor} />
              </td>
              <td>
                {row.action}
                <div class="small muted cut">{row.subject}</div>
              </td>
              <td>
                <Badge state={row.outcome} />
              </td>
              <td>{row.consumer}</td>
              <td class="small">
                <bdi>{row.reason}</bdi>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
