import type { Json } from '../api.ts'
import { Card, Empty, Table } from './layout.tsx'
import { count } from './numbers.ts'
import { Badge, Id, isHidden } from './text.tsx'
import { duration, Time } from './time.tsx'

export function Runs({ rows }: { readonly rows: readonly Json[] }) {
  return (
    <Card title="Processes" about="Newest first" bare>
      {rows.length === 0 ? (
        <Empty>No process of this consumer has run yet.</Empty>
      ) : (
        <Table head={['Process', 'State', '-Version', 'Started', '-Heartbeat']}>
          {rows.map(run => (
            <tr>
              <td>
                <Id text={run.instance} />
                {run.mode !== 'live' && <span class="small muted">{run.mode}</span>}
              </td>
              <td>
                <RunBadge of={run} />
                <div class="small muted wrap">
                  <bdi>{run.haltedReason ?? run.pausedBecause}</bdi>
                </div>
              </td>
              <td class="wide-only mono">{run.handlerVersion}</td>
              <td>
                <Time at={run.startedAt} both />
              </td>
              <td class="wide-only">
                <Time at={run.endedAt === null ? run.heartbeatAt : null} />
              </td>
            </tr>
          ))}
        </Table>
      )}
    </Card>
  )
}

function RunBadge({ of }: { readonly of: Json }) {
  if (of.haltedReason !== null) return <Badge state="halted" />
  if (of.endedAt !== null) return <Badge state="">ended</Badge>
  if (!of.alive) return <Badge state="silent">no heartbeat</Badge>
  return of.pausedBecause === null ? <Badge state="running" /> : <Badge state="paused" />
}

export function Partitions({ rows }: { readonly rows: readonly Json[] }) {
  if (rows.length === 0) return null
  return (
    <Card title="Partitions" bare>
      <Table head={['Partition', 'Owner', '#Next position', '#Lag', '#Moved']}>
        {rows.map(row => (
          <tr>
            <td>
              <Id text={row.partition} />
            </td>
            <td>
              <Id text={row.owner} />
              {row.alive === false && <Badge state="silent">no heartbeat</Badge>}
            </td>
            <td class="num mono">{row.next ?? '–'}</td>
            <td class="num">{row.lag == null ? '–' : count(row.lag)}</td>
            <td class="num">{duration(row.secondsAgo)} ago</td>
          </tr>
        ))}
      </Table>
    </Card>
  )
}

/** Keys whose messages wait for an operator, oldest first. */
export function BlockedKeys({ of }: { readonly of: Json }) {
  const rows: readonly Json[] = of.blockedKeys ?? []
  if (rows.length === 0) return null
  const search = (key: string) =>
    `messages?q=${encodeURIComponent(`consumer:${of.name} key:${JSON.stringify(key)}`)}`
  return (
    <Card title="Blocked keys" about="Later messages of these keys wait behind the first" bare>
      <Table head={['Key', 'First', '#Behind', 'Since']}>
        {rows.map(row => (
          <tr>
            <td>
              {isHidden(row.key) ? <Id text={row.key} /> : <Id text={row.key} href={search(row.key)} />}
            </td>
            <td>
              {row.head === null ? (
                <Badge state={row.state} />
              ) : (
                <a class="mono" href={`messages/${row.head}`}>
                  {row.headCode || row.head}
                </a>
              )}
            </td>
            <td class="num">{count(row.waiting)}</td>
            <td>
              <Time at={row.since} both />
            </td>
          </tr>
        ))}
      </Table>
      {of.blockedKeysMore && <p class="in small muted">More keys are blocked than are shown.</p>}
    </Card>
  )
}
