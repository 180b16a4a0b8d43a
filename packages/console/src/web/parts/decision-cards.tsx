import { type Json, post } from '../api.ts'
import { may } from '../session.ts'
import { Card, Empty, Table } from './layout.tsx'
import { count } from './numbers.ts'
import { Badge, Facts, Id, Who } from './text.tsx'
import { Time } from './time.tsx'

/** An act of the page, before its reason is asked for. */
export interface Asked {
  readonly title: string
  readonly about: string
  readonly command: string
  readonly send: (because: string) => Promise<unknown>
}

type Ask = (one: Asked) => void

export function LossesCard({ rows, ask }: { readonly rows: readonly Json[]; readonly ask: Ask }) {
  return (
    <Card title="Losses" about="Records that a log no longer had when a consumer reached them" bare>
      {rows.length === 0 ? (
        <Empty title="No log has lost records that a consumer had not read." />
      ) : (
        <Table head={['Consumer', 'Partition', 'Range', '#Records', 'State', 'Reason', '']}>
          {rows.map(loss => (
            <tr key={loss.id}>
              <td>
                <a href={`consumers/${encodeURIComponent(loss.consumer)}`}>{loss.consumer}</a>
              </td>
              <td>
                <Id text={loss.partition} />
              </td>
              <td class="mono">
                {loss.from} – {loss.to ?? 'end'}
              </td>
              <td class="num">{loss.records === null ? 'unknown' : count(loss.records)}</td>
              <td>
                <Badge state={loss.state} />
              </td>
              <td class="small wrap">
                <bdi>{loss.acceptedBecause ?? loss.reason}</bdi>
              </td>
              <td class="num">
                {loss.state === 'open' && may('operator') && (
                  <button class="button danger small" type="button" onClick={() => ask(accepting(loss))}>
                    Accept…
                  </button>
                )}
              </td>
            </tr>
          ))}
        </Table>
      )}
    </Card>
  )
}

function accepting({ id, consumer, partition, digest, command }: Json): Asked {
  return {
    title: 'Accept this loss',
    about: `${consumer} continues after the lost records of ${partition} at its next start.`,
    command,
    send: because => post(`decisions/losses/${id}/accept`, { consumer, digest, because }),
  }
}

export function RestoreCard({ of, ask }: { readonly of: Json; readonly ask: Ask }) {
  const { open } = of
  return (
    <Card
      title="Failovers and restores"
      side={
        open === null ? (
          <Badge state="accepted">nothing to accept</Badge>
        ) : (
          <Badge state="critical">consumers halt</Badge>
        )
      }
    >
      {open === null ? <Incarnations rows={of.incarnations} /> : <OpenRestore of={of} ask={ask} />}
    </Card>
  )
}

function OpenRestore({ of, ask }: { readonly of: Json; readonly ask: Ask }) {
  const { open } = of
  const accept = () =>
    ask({
      title: 'Accept this copy of the database',
      about: 'Consumers continue. Readers of logs are set back to the positions of this copy.',
      command: `onceward restore accept ${open.id} --because '…'`,
      send: because => post(`decisions/restore/${open.id}/accept`, { because }),
    })
  return (
    <div class="stack">
      <Facts
        of={{
          detected: <Time at={open.detectedAt} both />,
          why: open.why,
          'complete until': <Time at={open.completeUntil} both />,
          consumers: of.exposures.map((one: Json) => (
            <div>
              {one.consumer}: {one.kind} {one.place}, position kept by {one.keeper}
            </div>
          )),
        }}
      />
      {may('admin') && (
        <div>
          <button class="button danger" type="button" onClick={accept}>
            Accept…
          </button>
        </div>
      )}
    </div>
  )
}

function Incarnations({ rows }: { readonly rows: readonly Json[] }) {
  return (
    <ol class="timeline">
      {rows.map(one => (
        <li>
          <div class="what">
            <b>{one.why}</b>
            <span class="small">
              <Time at={one.detectedAt} both />
            </span>
          </div>
          {one.acceptedBy !== null && (
            <div class="small muted">
              accepted by <Who actor={one.acceptedBy} />
            </div>
          )}
        </li>
      ))}
    </ol>
  )
}

export function BrokersCard({ rows, add }: { readonly rows: readonly Json[]; readonly add: () => void }) {
  return (
    <Card
      title="Broker clusters"
      side={
        may('admin') && (
          <button class="button small" type="button" onClick={add}>
            Add…
          </button>
        )
      }
    >
      {rows.length === 0 ? (
        <p class="muted">No broker has fed this database yet.</p>
      ) : (
        <Facts of={Object.fromEntries(rows.map(one => [one.kind, <code>{one.cluster}</code>]))} />
      )}
    </Card>
  )
}
