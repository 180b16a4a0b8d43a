import { useSignal } from '@preact/signals'
import { type Json, post } from '../api.ts'
import { AskReason } from '../parts/ask-reason.tsx'
import { Loaded, useLoad } from '../parts/load.tsx'
import { Badge, Card, count, duration, Empty, Head } from '../parts/text.tsx'
import { may } from '../session.ts'

export function OutboxPage() {
  const load = useLoad('outbox', 3_000)
  const chosen = useSignal<Json | null>(null)
  return (
    <div class="stack">
      <Head title="Outbox" about="Messages that wait for their broker, and the relays that publish them" />
      <Loaded of={load}>
        {of => (
          <>
            <Card title="Waiting" bare>
              {of.outbox.length === 0 ? <Empty>No message waits.</Empty> : <Waiting rows={of.outbox} />}
            </Card>
            <Card title="Refused by the broker" bare>
              {of.stuck.length === 0 ? (
                <Empty>No messages were refused by their broker.</Empty>
              ) : (
                <Stuck rows={of.stuck} drop={one => (chosen.value = one)} />
              )}
            </Card>
            <Card title="Relays" bare>
              {of.relays.length === 0 ? (
                <Empty>No relay is connected.</Empty>
              ) : (
                <div class="scroll">
                  <table>
                    <thead>
                      <tr>
                        <th>Destination</th>
                        <th>Process</th>
                        <th class="num">Buckets of 32</th>
                      </tr>
                    </thead>
                    <tbody>
                      {of.relays.map((one: Json) => (
                        <tr>
                          <td>{one.destination}</td>
                          <td>{one.instance}</td>
                          <td class="num">{one.buckets}</td>
                        </tr>
                      ))}
                    </tbody>
                  </table>
                </div>
              )}
            </Card>
          </>
        )}
      </Loaded>
      {chosen.value !== null && (
        <AskReason
          title="Drop a refused message"
          verb="Drop"
          danger
          close={() => (chosen.value = null)}
          act={async because => {
            await post(`outbox/${chosen.value.id}/drop`, { messageId: chosen.value.messageId, because })
            load.reload()
          }}
        >
          <p>
            <code>{chosen.value.messageId}</code> is not published. {count(chosen.value.behind)} messages
            behind it continue.
          </p>
        </AskReason>
      )}
    </div>
  )
}

function Waiting({ rows }: { readonly rows: readonly Json[] }) {
  return (
    <div class="scroll">
      <table>
        <thead>
          <tr>
            <th>Queue or topic</th>
            <th>Destination</th>
            <th class="num">Waiting</th>
            <th class="num">Oldest</th>
            <th class="num">Refused</th>
            <th>Relay</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(row => (
            <tr>
              <td class="mono">{row.queue}</td>
              <td>{row.destination}</td>
              <td class="num">{count(row.waiting)}</td>
              <td class="num">{duration(row.oldestSeconds)}</td>
              <td class="num">{count(row.failing)}</td>
              <td>
                {row.served ? <Badge state="running">connected</Badge> : <Badge state="critical">none</Badge>}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function Stuck({ rows, drop }: { readonly rows: readonly Json[]; readonly drop: (one: Json) => void }) {
  return (
    <div class="scroll">
      <table>
        <thead>
          <tr>
            <th>Message</th>
            <th>Queue</th>
            <th class="num">Behind</th>
            <th>Error</th>
            <th />
          </tr>
        </thead>
        <tbody>
          {rows.map(row => (
            <tr>
              <td class="mono">{row.messageId}</td>
              <td class="mono">{row.queue}</td>
              <td class="num">{count(row.behind)}</td>
              <td class="small">{row.error}</td>
              <td>
                {may('admin') && (
                  <button class="button danger" type="button" onClick={() => drop(row)}>
                    Drop…
                  </button>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
