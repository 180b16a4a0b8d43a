import { useSignal } from '@preact/signals'
import { type Json, post } from '../api.ts'
import { AskReason } from '../parts/ask-reason.tsx'
import { Loaded, useLoad } from '../parts/load.tsx'
import { Badge, Card, count, Empty, Facts, Head, Time, Who } from '../parts/text.tsx'
import { may } from '../session.ts'

interface Asked {
  readonly title: string
  readonly about: string
  readonly command: string
  readonly send: (because: string) => Promise<unknown>
}

/** Losses, failovers, brokers and names: what operations asks people to decide. */
export function DecisionsPage() {
  const load = useLoad('decisions', 5_000)
  const asked = useSignal<Asked | null>(null)
  const ask = (one: Asked) => {
    asked.value = one
  }
  return (
    <div class="stack">
      <Head
        title="Decisions"
        about="Lost records, failovers and restores, broker clusters, names of consumers"
      />
      <Loaded of={load}>
        {of => (
          <>
            <Losses rows={of.losses} ask={ask} />
            {of.restore !== null && <Restore of={of.restore} ask={ask} />}
            <Brokers rows={of.brokers} />
            <Readers rows={of.readers} />
          </>
        )}
      </Loaded>
      {asked.value !== null && (
        <AskReason
          title={asked.value.title}
          verb="Accept"
          command={asked.value.command}
          close={() => (asked.value = null)}
          act={async because => {
            await asked.value!.send(because)
            load.reload()
          }}
        >
          <p>{asked.value.about}</p>
        </AskReason>
      )}
    </div>
  )
}

function Losses({ rows, ask }: { readonly rows: readonly Json[]; readonly ask: (one: Asked) => void }) {
  return (
    <Card title="Losses" bare>
      {rows.length === 0 ? (
        <Empty>No log has lost records that a consumer had not read.</Empty>
      ) : (
        <div class="scroll">
          <table>
            <thead>
              <tr>
                <th>Consumer</th>
                <th>Partition</th>
                <th>Range</th>
                <th class="num">Records</th>
                <th>State</th>
                <th>Reason</th>
                <th />
              </tr>
            </thead>
            <tbody>
              {rows.map(loss => (
                <tr>
                  <td>{loss.consumer}</td>
                  <td class="mono">{loss.partition}</td>
                  <td class="mono">
                    {loss.from} – {loss.to ?? 'end'}
                  </td>
                  <td class="num">{loss.records === null ? 'unknown' : count(loss.records)}</td>
                  <td>
                    <Badge state={loss.state} />
                  </td>
                  <td class="small">{loss.acceptedBecause ?? loss.reason}</td>
                  <td>
                    {loss.state === 'open' && may('operator') && (
                      <button
                        class="button danger"
                        type="button"
                        onClick={() =>
                          ask({
                            title: 'Accept this loss',
                            about: `${loss.consumer} continues after the lost records of ${loss.partition} at its next start.`,
                            command: loss.command,
                            send: because =>
                              post(`decisions/losses/${loss.id}/accept`, {
                                consumer: loss.consumer,
                                digest: loss.digest,
                                because,
                              }),
                          })
                        }
                      >
                        Accept…
                      </button>
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Card>
  )
}

function Restore({ of, ask }: { readonly of: Json; readonly ask: (one: Asked) => void }) {
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
      {open !== null && (
        <div class="stack">
          <Facts
            of={{
              detected: <Time at={open.detectedAt} />,
              why: open.why,
              'complete until': <Time at={open.completeUntil} />,
              consumers: of.exposures.map((one: Json) => (
                <div>
                  {one.consumer}: {one.kind} {one.place}, position kept by {one.keeper}
                </div>
              )),
            }}
          />
          {may('admin') && (
            <div>
              <button
                class="button danger"
                type="button"
                onClick={() =>
                  ask({
                    title: 'Accept this copy of the database',
                    about: 'Consumers continue. Readers of logs are set back to the positions of this copy.',
                    command: `onceward restore accept ${open.id} --because '…'`,
                    send: because => post(`decisions/restore/${open.id}/accept`, { because }),
                  })
                }
              >
                Accept…
              </button>
            </div>
          )}
        </div>
      )}
      {open === null && (
        <ol class="timeline">
          {of.incarnations.map((one: Json) => (
            <li>
              <b>{one.why}</b>{' '}
              <span class="small muted">
                <Time at={one.detectedAt} />
                {one.acceptedBy !== null && (
                  <>
                    , accepted by <Who actor={one.acceptedBy} />
                  </>
                )}
              </span>
            </li>
          ))}
        </ol>
      )}
    </Card>
  )
}

function Brokers({ rows }: { readonly rows: readonly Json[] }) {
  if (rows.length === 0) return null
  return (
    <Card title="Broker clusters">
      <Facts of={Object.fromEntries(rows.map(one => [one.kind, <code>{one.cluster}</code>]))} />
    </Card>
  )
}

function Readers({ rows }: { readonly rows: readonly Json[] }) {
  if (rows.length === 0) return null
  return (
    <Card title="Names and their sources" bare>
      <div class="scroll">
        <table>
          <thead>
            <tr>
              <th>Consumer</th>
              <th>Source</th>
              <th>Group</th>
              <th>Last seen</th>
            </tr>
          </thead>
          <tbody>
            {rows.map(row => (
              <tr>
                <td>
                  <a href={`consumers/${encodeURIComponent(row.consumer)}`}>{row.consumer}</a>
                </td>
                <td>
                  {row.kind} <code>{row.place}</code>
                </td>
                <td class="mono">{row.reader}</td>
                <td class="small">
                  <Time at={row.lastAt} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Card>
  )
}
