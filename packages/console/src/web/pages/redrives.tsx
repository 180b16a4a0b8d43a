import type { Json } from '../api.ts'
import { Card, Empty, Head, Table } from '../parts/layout.tsx'
import { Loaded, useLoad } from '../parts/load.tsx'
import { count } from '../parts/numbers.ts'
import { Badge, Who } from '../parts/text.tsx'
import { Time } from '../parts/time.tsx'

export function RedrivesPage() {
  const load = useLoad('redrives', 'live')
  return (
    <div class="stack">
      <Head title="Redrives" about="What people tried again; a redrive has the outcome of each message" />
      <Loaded of={load}>
        {({ redrives }) => (
          <Card title="Newest first" bare>
            {redrives.length === 0 ? (
              <Empty title="No message was redriven yet.">
                Select <a href="messages">held messages</a> whose cause is fixed, and redrive them.
              </Empty>
            ) : (
              <RedriveTable rows={redrives} />
            )}
          </Card>
        )}
      </Loaded>
    </div>
  )
}

function RedriveTable({ rows }: { readonly rows: readonly Json[] }) {
  return (
    <Table head={['Redrive', 'State', '#Selected', '#Moved', '#Behind', '#Left', 'By', 'Started']}>
      {rows.map(row => (
        <tr key={row.requestId}>
          <td>
            <a class="cut" href={`redrives/${encodeURIComponent(row.requestId)}`}>
              <bdi>{row.because}</bdi>
            </a>
            <span class="small muted cut">{row.consumer}</span>
          </td>
          <td>
            <Badge state={row.state} />
          </td>
          <td class="num">{count(row.selected)}</td>
          <td class="num">{count(row.moved)}</td>
          <td class="num">{count(row.behind)}</td>
          <td class="num">{count(row.left)}</td>
          <td>
            <Who actor={row.by} />
          </td>
          <td>
            <Time at={row.at} both />
          </td>
        </tr>
      ))}
    </Table>
  )
}
