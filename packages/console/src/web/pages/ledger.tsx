import type { Json } from '../api.ts'
import { Card, Empty, Head, Table } from '../parts/layout.tsx'
import { Loaded, useLoad } from '../parts/load.tsx'
import { count } from '../parts/numbers.ts'
import { Badge, Id } from '../parts/text.tsx'
import { Time } from '../parts/time.tsx'
import { place } from '../router.ts'
import { EffectPage } from './effect.tsx'

export function LedgerPage() {
  const id = place.value.path.split('/')[1]
  return id ? <EffectPage key={id} id={id} /> : <EffectList />
}

function EffectList() {
  const state = place.value.query.get('state') ?? ''
  const load = useLoad(`ledger${state === '' ? '' : `?state=${encodeURIComponent(state)}`}`, 'live')
  const isAll = state === 'open'
  return (
    <div class="stack">
      <Head title="External effects" about="Calls that a person must decide, or all that are not completed">
        <a class="button" href={isAll ? 'ledger' : 'ledger?state=open'}>
          {isAll ? 'Only those for people' : 'All open calls'}
        </a>
      </Head>
      <Loaded of={load}>
        {({ effects }) => (
          <Card
            title={isAll ? 'Not completed' : 'For people'}
            side={effects.length > 0 && <span class="count">{count(effects.length)}</span>}
            bare
          >
            {effects.length === 0 ? (
              <Empty title={isAll ? 'Every call is completed.' : 'No external effects need attention.'}>
                A call whose outcome is unknown appears here with its evidence.
              </Empty>
            ) : (
              <Rows rows={effects} />
            )}
          </Card>
        )}
      </Loaded>
    </div>
  )
}

function Rows({ rows }: { readonly rows: readonly Json[] }) {
  return (
    <Table head={['Effect', 'Target', 'State', '#Attempts', 'Last attempt', 'Note']}>
      {rows.map(one => (
        <tr key={one.id}>
          <td>
            <Id text={one.key} href={`ledger/${one.id}`} />
            <span class="small muted cut">{one.consumer}</span>
          </td>
          <td>{one.target}</td>
          <td>
            <Badge state={one.state} />
          </td>
          <td class="num">{one.attempts}</td>
          <td>
            <Time at={one.lastAttemptAt} both />
          </td>
          <td class="small wrap">
            <bdi>{one.note}</bdi>
          </td>
        </tr>
      ))}
    </Table>
  )
}
