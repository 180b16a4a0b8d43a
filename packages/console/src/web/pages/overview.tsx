import type { Json } from '../api.ts'
import { overview } from '../overview-state.ts'
import { Badge, Card, count, duration, Empty, Head } from '../parts/text.tsx'

export function OverviewPage() {
  const found = overview.value
  if (found === null) return <Empty>Loading…</Empty>
  return (
    <div class="stack">
      <Head title="Overview" about={summary(found)} />
      <Card title="Needs a person" bare>
        {found.attention.length === 0 ? (
          <Empty>Nothing needs a person now.</Empty>
        ) : (
          <div class="attention">
            {found.attention.map((one: Json) => (
              <a href={one.page}>
                <Badge state={one.severity} />
                <b>{one.consumer ?? ''}</b>
                <span>{one.text}</span>
                <span class="muted" aria-hidden="true">
                  →
                </span>
              </a>
            ))}
          </div>
        )}
      </Card>
      <Card title="Consumers" bare>
        {found.consumers.length === 0 ? (
          <Empty>No consumer has run on this database yet.</Empty>
        ) : (
          found.consumers.map((consumer: Json) => <Flow of={consumer} />)
        )}
      </Card>
    </div>
  )
}

function summary({ consumers, attention }: Json): string {
  const running = consumers.filter(({ openRuns }: Json) => openRuns > 0).length
  const asks = attention.length === 0 ? 'nothing needs a person' : `${attention.length} to decide`
  return `${running} of ${consumers.length} consumers run; ${asks}`
}

/** Source → consumer → effects, with its figures. */
function Flow({ of }: { readonly of: Json }) {
  const held = of.parked + of.dead + of.quarantined
  return (
    <div class="flow">
      <div class="node">
        {of.sources.length === 0 && <span class="muted">no source seen</span>}
        {of.sources.map((source: Json) => (
          <div>
            <span class="small muted">{source.kind}</span>
            <div class="mono">{source.place}</div>
          </div>
        ))}
      </div>
      <div class="arrow" aria-hidden="true">
        →
      </div>
      <div class="node self">
        <div class="row">
          <a href={`consumers/${encodeURIComponent(of.name)}`}>
            <b>{of.name}</b>
          </a>
          <RunState of={of} />
        </div>
        <div class="small muted">
          {of.owner} · {of.risk}
          {of.generation > 1 && ` · generation ${of.generation}`}
        </div>
      </div>
      <div class="arrow" aria-hidden="true">
        →
      </div>
      <div class="node">
        {of.effects.length === 0 ? (
          <span class="muted">database</span>
        ) : (
          of.effects.map((effect: Json) => (
            <div class="small">
              <span class="mono">{effect.target}</span> {count(effect.count)} {effect.state}
            </div>
          ))
        )}
      </div>
      <div class="figures">
        <Figure name="queued" value={count(of.queued)} />
        <Figure name="pending" value={count(of.pending)} />
        <Figure name="oldest" value={duration(of.oldestPendingSeconds)} />
        <Figure name="held" value={count(held)} hot={held > 0} />
      </div>
    </div>
  )
}

function Figure({
  name,
  value,
  hot,
}: {
  readonly name: string
  readonly value: string
  readonly hot?: boolean
}) {
  return (
    <div class={hot ? 'hot' : ''}>
      <b>{value}</b>
      <span>{name}</span>
    </div>
  )
}

export function RunState({ of }: { readonly of: Json }) {
  if (of.pausedBecause !== null) return <Badge state="paused">paused {duration(of.pausedSeconds)}</Badge>
  if (of.openRuns > 0)
    return (
      <Badge state="running">
        {of.openRuns} {of.openRuns === 1 ? 'process' : 'processes'}
      </Badge>
    )
  if (of.silentRuns > 0) return <Badge state="silent">no heartbeat</Badge>
  return <Badge state="">not running</Badge>
}
