import { useSignal } from '@preact/signals'
import { type Json, post } from '../api.ts'
import { Alerts } from '../parts/alerts.tsx'
import { AskReason } from '../parts/ask-reason.tsx'
import { Chart } from '../parts/chart.tsx'
import { CheckCard } from '../parts/check-card.tsx'
import { ContractCard, Effects, Objectives, Retention, Sources } from '../parts/consumer-facts.tsx'
import { BlockedKeys, Partitions, Runs } from '../parts/consumer-tables.tsx'
import { report } from '../parts/done.tsx'
import { Flags } from '../parts/flags.tsx'
import { RunState } from '../parts/flow.tsx'
import { Groups } from '../parts/groups.tsx'
import { Card, Head, Table } from '../parts/layout.tsx'
import { LoadedPage, useLoad } from '../parts/load.tsx'
import { count, perSecond } from '../parts/numbers.ts'
import { shell } from '../parts/shell.ts'
import { Id } from '../parts/text.tsx'
import { duration, Time } from '../parts/time.tsx'
import { go } from '../router.ts'
import { may } from '../session.ts'
import { Tile } from './overview.tsx'

export function ConsumerPage({ name }: { readonly name: string }) {
  const load = useLoad(`consumers/${encodeURIComponent(name)}`, 'live')
  return (
    <LoadedPage of={load} title={name} up={['./', 'Overview']}>
      {found => <Consumer of={found} reload={load.reload} />}
    </LoadedPage>
  )
}

function Consumer({ of, reload }: { readonly of: Json; readonly reload: () => void }) {
  // Halts, brakes and objectives belong to the name; counts to its newest generation.
  const newest = { ...of.generations.at(-1), halted: of.halted, brakes: of.brakes, objectives: of.objectives }
  const search = (q: string) => go(`messages?q=${encodeURIComponent(q)}`)
  return (
    <div class="stack">
      <Head title={of.name} up={['./', 'Overview']} about={about(newest, of)}>
        <RunState of={newest} />
      </Head>
      <Flags of={newest} />
      <Figures of={of} newest={newest} />
      <Groups q={`consumer:${of.name}`} choose={search} />
      <Alerts consumer={of.name} alerts={of.alerts ?? []} />
      <Brakes of={of} reload={reload} />
      <LastHour name={of.name} />
      <div class="columns">
        <div class="stack">
          <Runs rows={of.runs ?? []} />
          <Partitions rows={of.partitions} />
          <BlockedKeys of={of} />
        </div>
        <div class="stack">
          <Objectives rows={of.objectives ?? []} />
          <Sources of={of} />
          <Effects rows={of.effects} />
          <Retention of={of} />
          <CheckCard consumer={of.name} />
        </div>
      </div>
      <ContractCard of={of} />
    </div>
  )
}

function about({ owner, risk, generation }: Json, { generations }: Json): string {
  const others = generations.length > 1 ? ` of ${generations.length}` : ''
  return `owner ${owner} · risk ${risk} · generation ${generation}${others}`
}

function Figures({ of, newest }: { readonly of: Json; readonly newest: Json }) {
  const held = (state: string) => `messages?q=${encodeURIComponent(`consumer:${of.name} state:${state}`)}`
  const oldest = of.lag?.oldestSeconds ?? newest.oldestPendingSeconds
  return (
    <dl class="tiles">
      <Tile name="applied" value={perSecond(of.rate?.perSecond)} />
      <Tile name="at the source" value={of.lag?.messages == null ? '–' : count(of.lag.messages)} />
      <Tile
        name="pending"
        value={count(newest.pending)}
        detail={oldest == null ? '' : `oldest ${duration(oldest)}`}
      />
      {['parked', 'dead', 'quarantined'].map(state => (
        <Tile name={state} value={count(newest[state])} hot={newest[state] > 0} href={held(state)} />
      ))}
    </dl>
  )
}

/** Without the minute that is not over: its count is still growing. */
const whole = (values: readonly (number | null)[]) => values.slice(0, -1)

function LastHour({ name }: { readonly name: string }) {
  const load = useLoad(`rates?consumer=${encodeURIComponent(name)}`, 'live')
  const found = load.value.value
  const [series] = found?.consumers ?? []
  if (series === undefined) return null
  const waits = [...series.lag, ...series.pending].some(value => value > 0)
  return (
    <Card title="Last hour">
      <Chart
        label={`Messages of ${name} in the last hour`}
        unit="messages a minute"
        from={found.from}
        series={[
          { name: 'applied', values: whole(series.applied), tone: 'accent' },
          { name: 'duplicates', values: whole(series.duplicates), tone: 'info' },
          { name: 'failed attempts', values: whole(series.failed), tone: 'warn' },
          { name: 'set aside', values: whole(series.setAside), tone: 'crit' },
        ]}
      />
      {waits && (
        <Chart
          label={`Messages that wait for ${name}`}
          unit="messages"
          from={found.from}
          series={[
            { name: 'at the source', values: series.lag, tone: 'info' },
            { name: 'pending in the database', values: series.pending, tone: 'warn' },
          ]}
        />
      )}
    </Card>
  )
}

function Brakes({ of, reload }: { readonly of: Json; readonly reload: () => void }) {
  const chosen = useSignal<Json | null>(null)
  const rows: readonly Json[] = of.brakes ?? []
  return (
    <>
      {rows.length > 0 && <BrakesCard rows={rows} release={one => (chosen.value = one)} />}
      {chosen.value !== null && (
        <ReleaseDialog
          consumer={of.name}
          type={chosen.value.type}
          close={() => (chosen.value = null)}
          done={reload}
        />
      )}
    </>
  )
}

function BrakesCard(props: { readonly rows: readonly Json[]; readonly release: (one: Json) => void }) {
  return (
    <Card title="Paused event types" bare>
      <Table head={['Type', 'Cause', '#Failed', 'Since', '']}>
        {props.rows.map(one => (
          <tr key={one.type}>
            <td>
              <Id text={one.type || '(no type)'} />
            </td>
            <td class="wrap">{one.cause}</td>
            <td class="num">{count(one.messages)}</td>
            <td>
              <Time at={one.since} both />
            </td>
            <td class="num">
              {may('operator') && (
                <button class="button small" type="button" onClick={() => props.release(one)}>
                  Release…
                </button>
              )}
            </td>
          </tr>
        ))}
      </Table>
    </Card>
  )
}

function ReleaseDialog(props: {
  readonly consumer: string
  readonly type: string
  readonly close: () => void
  readonly done: () => void
}) {
  const { consumer, type, close, done } = props
  return (
    <AskReason
      title={`Release ${type || 'messages without a type'}`}
      verb="Release"
      command={`onceward brakes release ${type === '' ? '' : shell(type)} --consumer ${consumer} --because '…'`}
      close={close}
      act={async because => {
        await post(`consumers/${encodeURIComponent(consumer)}/brakes/release`, { type, because })
        report(`${type || 'Messages without a type'} continue within seconds.`)
        done()
      }}
    >
      <p class="muted">
        The processes take messages of this type again. For an hour, this cause does not pause it.
      </p>
    </AskReason>
  )
}
