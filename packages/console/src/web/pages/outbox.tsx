import { useSignal } from '@preact/signals'
import { type Json, post } from '../api.ts'
import { AskReason } from '../parts/ask-reason.tsx'
import { report } from '../parts/done.tsx'
import { Card, Empty, Head, Table } from '../parts/layout.tsx'
import { Loaded, useLoad } from '../parts/load.tsx'
import { count, counted } from '../parts/numbers.ts'
import { shell } from '../parts/shell.ts'
import { Badge, Id } from '../parts/text.tsx'
import { duration, Time } from '../parts/time.tsx'
import { may } from '../session.ts'

export function OutboxPage() {
  const load = useLoad('outbox', 'live')
  const chosen = useSignal<Json | null>(null)
  return (
    <div class="stack">
      <Head title="Outbox" about="Messages that wait for their broker, and the relays that publish them" />
      <Loaded of={load}>
        {of => (
          <>
            <Waiting rows={of.outbox} />
            <Stuck rows={of.stuck} drop={one => (chosen.value = one)} />
            <Relays rows={of.relays} />
          </>
        )}
      </Loaded>
      {chosen.value !== null && (
        <AskReason
          title="Drop a refused message"
          verb="Drop"
          danger
          command={`onceward outbox drop ${chosen.value.id} --message ${shell(chosen.value.messageId)} --because '…'`}
          close={() => (chosen.value = null)}
          act={async because => {
            const { id, messageId } = chosen.value
            await post(`outbox/${id}/drop`, { messageId, because })
            report(`Dropped ${messageId}.`)
            load.reload()
          }}
        >
          <p>
            <code>{chosen.value.messageId}</code> is not published. {counted(chosen.value.behind, 'message')}{' '}
            behind it continue.
          </p>
        </AskReason>
      )}
    </div>
  )
}

function Waiting({ rows }: { readonly rows: readonly Json[] }) {
  return (
    <Card title="Waiting" bare>
      {rows.length === 0 ? (
        <Empty title="No message waits.">Everything written to the outbox was published.</Empty>
      ) : (
        <Table
          head={['Queue or topic', 'Destination', '#Waiting', '#Oldest', '#Refused', '#Behind', 'Relay']}
        >
          {rows.map(row => (
            <tr>
              <td>
                <Id text={row.queue} />
              </td>
              <td>
                <Id text={row.destination} />
              </td>
              <td class="num">{count(row.waiting)}</td>
              <td class="num">{duration(row.oldestSeconds)}</td>
              <td class="num">{count(row.failing)}</td>
              <td class="num">{count(row.behind)}</td>
              <td>
                {row.served ? <Badge state="running">connected</Badge> : <Badge state="critical">none</Badge>}
              </td>
            </tr>
          ))}
        </Table>
      )}
    </Card>
  )
}

function Stuck({ rows, drop }: { readonly rows: readonly Json[]; readonly drop: (one: Json) => void }) {
  if (rows.length === 0) return null
  return (
    <Card title="Refused by the broker" bare>
      <Table head={['Message', 'Queue', '#Behind', 'Error', '']}>
        {rows.map(row => (
          <tr key={row.id}>
            <td>
              <Id text={row.messageId} />
            </td>
            <td>
              <Id text={row.queue} />
            </td>
            <td class="num">{count(row.behind)}</td>
            <td class="small wrap">
              <bdi>{row.error}</bdi>
            </td>
            <td class="num">
              {may('admin') && (
                <button class="button danger small" type="button" onClick={() => drop(row)}>
                  Drop…
                </button>
              )}
            </td>
          </tr>
        ))}
      </Table>
    </Card>
  )
}

function Relays({ rows }: { readonly rows: readonly Json[] }) {
  return (
    <Card title="Relays" bare>
      {rows.length === 0 ? (
        <Empty title="No relay is connected.">
          Start one with <code>onceward relay</code>.
        </Empty>
      ) : (
        <Table head={['Destination', 'Process', '#Buckets of 32', 'Since']}>
          {rows.map(one => (
            <tr>
              <td>
                <Id text={one.destination} />
              </td>
              <td>
                <Id text={one.instance} />
              </td>
              <td class="num">{one.buckets}</td>
              <td>
                <Time at={one.leasedAt} both />
              </td>
            </tr>
          ))}
        </Table>
      )}
    </Card>
  )
}
