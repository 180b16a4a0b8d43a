import { useSignal } from '@preact/signals'
import type { Json } from '../api.ts'
import { Card, Empty, Head, Table } from '../parts/layout.tsx'
import { Loaded, useLoad } from '../parts/load.tsx'
import { PlanDialog } from '../parts/plan-dialog.tsx'
import { Badge, Who } from '../parts/text.tsx'
import { Time } from '../parts/time.tsx'
import { place } from '../router.ts'
import { may } from '../session.ts'

export function CampaignsPage() {
  const all = place.value.query.get('all') !== null
  const load = useLoad(`campaigns?open=${!all}`, 'live')
  const planning = useSignal(false)
  return (
    <div class="stack">
      <Head title="Campaigns" about="History that is read again: planned, previewed, approved, run, verified">
        <a class="button" href={all ? 'campaigns' : 'campaigns?all'}>
          {all ? 'Only open ones' : 'All campaigns'}
        </a>
        {may('operator') && (
          <button class="button primary" type="button" onClick={() => (planning.value = true)}>
            Plan a campaign…
          </button>
        )}
      </Head>
      <Loaded of={load}>
        {({ campaigns }) => (
          <Card title={all ? 'All, newest first' : 'Open'} bare>
            {campaigns.length === 0 ? (
              <Empty title={all ? 'There was no campaign yet.' : 'No campaign is open.'}>
                Plan one after a bug, for a new table, or to find what is missing. Nothing is applied before
                it is previewed and, with risk money or regulatory, approved.
              </Empty>
            ) : (
              <Rows rows={campaigns} />
            )}
          </Card>
        )}
      </Loaded>
      {planning.value && <PlanDialog close={() => (planning.value = false)} />}
    </div>
  )
}

function Rows({ rows }: { readonly rows: readonly Json[] }) {
  return (
    <Table head={['#Number', 'Campaign', 'State', 'Effects', 'Requested by', 'Requested']}>
      {rows.map(row => (
        <tr key={row.id}>
          <td class="num muted">{row.id}</td>
          <td>
            <a class="cut" href={`campaigns/${row.id}`}>
              {row.mode} of {row.consumer}
            </a>
            <span class="small muted cut">
              <bdi>{row.reason}</bdi>
            </span>
          </td>
          <td>
            <Badge state={row.state} />
          </td>
          <td>{row.effects}</td>
          <td>
            <Who actor={row.requestedBy} />
          </td>
          <td>
            <Time at={row.requestedAt} both />
          </td>
        </tr>
      ))}
    </Table>
  )
}
