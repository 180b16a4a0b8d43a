import { useSignal } from '@preact/signals'
import type { Json } from '../api.ts'
import { overview } from '../live.ts'
import { byUrgency, Flow, heldBy, inDoubt } from '../parts/flow.tsx'
import { HeadlineCard } from '../parts/headline.tsx'
import { Card, Empty, Head } from '../parts/layout.tsx'
import { count, counted, perSecond } from '../parts/numbers.ts'
import { Badge, Who } from '../parts/text.tsx'
import { duration, Time } from '../parts/time.tsx'
import { session } from '../session.ts'

export function OverviewPage() {
  const found = overview.value
  // One title before and after the first answer: the focus stays on it.
  return (
    <div class="stack">
      <Head title="Overview" about={found === null ? 'Loading…' : summary(found)} />
      {found !== null && <Found of={found} />}
    </div>
  )
}

function Found({ of: found }: { readonly of: Json }) {
  return (
    <>
      {session.value?.headline && <HeadlineCard />}
      <Totals of={found} />
      <Attention of={found.attention} />
      {found.redrives.length > 0 && <UnderWay of={found.redrives} />}
      <Consumers of={found.consumers} />
    </>
  )
}

/** With many consumers a field finds them by name or owner. */
function Consumers({ of }: { readonly of: readonly Json[] }) {
  const typed = useSignal('')
  const wanted = typed.value.trim().toLowerCase()
  const shown = of.filter(({ name, owner }) => `${name} ${owner}`.toLowerCase().includes(wanted))
  return (
    <Card
      title="Consumers"
      about="Source, consumer and effects. Those that need attention come first."
      side={
        (of.length > manyConsumers || wanted !== '') && (
          <input
            class="select"
            aria-label="Find a consumer by name or owner"
            placeholder="name or owner"
            value={typed.value}
            onInput={event => (typed.value = event.currentTarget.value)}
          />
        )
      }
      bare
    >
      {of.length === 0 && (
        <Empty title="No consumer has run on this database yet">
          Start one with <code>onceward run consumer.ts</code>. It appears here within a second.
        </Empty>
      )}
      {of.length > 0 && shown.length === 0 && <Empty>No consumer has this name or owner.</Empty>}
      {byUrgency(shown).map(consumer => (
        <Flow key={`${consumer.name} ${consumer.generation}`} of={consumer} />
      ))}
    </Card>
  )
}

const manyConsumers = 8

function summary({ consumers, attention }: Json): string {
  const running = consumers.filter(({ openRuns }: Json) => openRuns > 0).length
  const asks = attention.length === 0 ? 'nothing needs attention' : `${attention.length} to decide`
  return `${running} of ${counted(consumers.length, 'consumer')} run; ${asks}`
}

function Totals({ of }: { readonly of: Json }) {
  const sum = (read: (consumer: Json) => number) =>
    of.consumers.reduce((total: number, consumer: Json) => total + (read(consumer) || 0), 0)
  const held = sum(heldBy)
  const doubt = sum(inDoubt)
  const oldest = Math.max(
    -1,
    ...of.consumers.map((one: Json) => one.lag?.oldestSeconds ?? one.oldestPendingSeconds ?? -1),
  )
  const rates = of.consumers.map((one: Json) => one.rate?.perSecond).filter((one: unknown) => one != null)
  return (
    <dl class="tiles">
      <Tile
        name="applied"
        value={rates.length === 0 ? '–' : perSecond(sum(({ rate }) => rate?.perSecond ?? 0))}
      />
      <Tile
        name="waiting"
        value={count(sum(one => (one.lag?.messages ?? one.queued ?? 0) + one.pending))}
        detail={oldest < 0 ? '' : `oldest ${duration(oldest)}`}
      />
      <Tile name="held" value={count(held)} hot={held > 0} href="messages" />
      <Tile name="calls in doubt" value={count(doubt)} hot={doubt > 0} href="ledger" />
      <Tile name="to approve" value={count(of.approvals)} hot={of.approvals > 0} href="approvals" />
    </dl>
  )
}

export function Tile(props: {
  readonly name: string
  readonly value: string
  readonly detail?: string
  readonly hot?: boolean
  readonly href?: string
}) {
  const { name, value, detail, hot, href } = props
  return (
    <div class={`card tile ${hot ? 'hot' : ''}`}>
      <dt>{href === undefined ? name : <a href={href}>{name}</a>}</dt>
      <dd>
        <b>{value}</b>
        {detail && <span class="small muted">{detail}</span>}
      </dd>
    </div>
  )
}

const shownFirst = 7

function Attention({ of }: { readonly of: readonly Json[] }) {
  const all = useSignal(false)
  if (of.length === 0)
    return (
      <Card title="Needs attention" bare>
        <Empty title="Nothing needs attention now.">
          Messages that are set aside, calls in doubt, losses and requests appear here.
        </Empty>
      </Card>
    )
  const shown = all.value ? of : of.slice(0, shownFirst)
  return (
    <Card title="Needs attention" side={<span class="count">{of.length}</span>} bare>
      <ul class="attention">
        {shown.map(one => (
          <li>
            <a href={one.page}>
              <Badge state={one.severity} />
              <b class="cut">{one.consumer ?? <span class="muted">{one.page}</span>}</b>
              <span>
                <bdi>{one.text}</bdi>
              </span>
              <span class="muted" aria-hidden="true">
                →
              </span>
            </a>
          </li>
        ))}
      </ul>
      {of.length > shown.length && (
        <button type="button" class="button plain more" onClick={() => (all.value = true)}>
          Show {count(of.length - shown.length)} more
        </button>
      )}
    </Card>
  )
}

function UnderWay({ of }: { readonly of: readonly Json[] }) {
  return (
    <Card title="Redrives under way" bare>
      <ul class="attention">
        {of.map(one => (
          <li key={one.requestId}>
            <a href={`redrives/${encodeURIComponent(one.requestId)}`}>
              <Badge state="moving" />
              <b class="cut">{one.consumer}</b>
              <span>
                {count(one.moved)} of {count(one.selected)} moved: <bdi>{one.because}</bdi>{' '}
                <span class="small muted">
                  <Who actor={one.by} />, <Time at={one.at} />
                </span>
              </span>
              <span class="muted" aria-hidden="true">
                →
              </span>
            </a>
          </li>
        ))}
      </ul>
    </Card>
  )
}
