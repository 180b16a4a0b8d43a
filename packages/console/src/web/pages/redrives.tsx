import { useSignal } from '@preact/signals'
import { type Json, post } from '../api.ts'
import { AskReason } from '../parts/ask-reason.tsx'
import { Loaded, useLoad } from '../parts/load.tsx'
import { Badge, Card, count, Empty, Facts, Head, Time, Who } from '../parts/text.tsx'
import { may } from '../session.ts'

export function RedrivesPage() {
  const load = useLoad('redrives', 3_000)
  return (
    <div class="stack">
      <Head title="Redrives" about="Messages that people tried again, with their outcome" />
      <Loaded of={load}>
        {({ redrives }) => (
          <Card title="Newest first" bare>
            {redrives.length === 0 ? (
              <Empty>No message was redriven yet.</Empty>
            ) : (
              <RedriveTable rows={redrives} />
            )}
          </Card>
        )}
      </Loaded>
    </div>
  )
}

function RedriveTable({ rows }: { readonly rows: readonly Json[] }) {
  return (
    <div class="scroll">
      <table>
        <thead>
          <tr>
            <th>Redrive</th>
            <th>State</th>
            <th class="num">Selected</th>
            <th class="num">Moved</th>
            <th class="num wide-only">Behind</th>
            <th class="num wide-only">Left</th>
            <th>By</th>
            <th>When</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(row => (
            <tr>
              <td>
                <a href={`redrives/${encodeURIComponent(row.requestId)}`}>{row.because}</a>
                <div class="small muted">{row.consumer}</div>
              </td>
              <td>
                <Badge state={row.state} />
              </td>
              <td class="num">{count(row.selected)}</td>
              <td class="num">{count(row.moved)}</td>
              <td class="num wide-only">{count(row.behind)}</td>
              <td class="num wide-only">{count(row.left)}</td>
              <td>
                <Who actor={row.by} />
              </td>
              <td class="small">
                <Time at={row.at} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

export function RedrivePage({ request }: { readonly request: string }) {
  const load = useLoad(`redrives/${encodeURIComponent(request)}`, 1_000)
  return <Loaded of={load}>{found => <Redrive of={found} reload={load.reload} />}</Loaded>
}

function Redrive({ of, reload }: { readonly of: Json; readonly reload: () => void }) {
  const dialog = useSignal<'stop' | 'continue' | null>(null)
  const path = `redrives/${encodeURIComponent(of.requestId)}`
  const isOpen = of.state === 'moving'
  const canContinue = of.state === 'stopped' || (isOpen && !of.conducted)
  return (
    <div class="stack">
      <Head
        title={of.because}
        about={
          <>
            {of.consumer} · <Who actor={of.by} /> · <Time at={of.at} />
          </>
        }
      >
        <Badge state={of.state} />
        {may('operator') && isOpen && (
          <button class="button danger" type="button" onClick={() => (dialog.value = 'stop')}>
            Stop…
          </button>
        )}
        {may('operator') && canContinue && (
          <button class="button primary" type="button" onClick={() => (dialog.value = 'continue')}>
            Continue…
          </button>
        )}
      </Head>
      {of.note !== null && <p class="notice warn">Stopped: {of.note}.</p>}
      {isOpen && !of.conducted && (
        <p class="notice warn">No process of this console moves it. Continue it; nothing is moved twice.</p>
      )}
      <Outcomes of={of.outcomes} />
      <Card title="Messages" bare>
        <div class="scroll">
          <table>
            <thead>
              <tr>
                <th>Message</th>
                <th>Outcome</th>
                <th>Why</th>
              </tr>
            </thead>
            <tbody>
              {of.rows.map((row: Json) => (
                <tr>
                  <td class="mono">
                    {/parked again|left|waits/.test(row.outcome) ? (
                      <a href={`messages/${row.id}`}>{row.messageId ?? row.id}</a>
                    ) : (
                      (row.messageId ?? row.id)
                    )}
                    {row.behind && <span class="small muted"> behind</span>}
                  </td>
                  <td>
                    <Badge state={row.outcome} />
                  </td>
                  <td class="small">{row.why}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </Card>
      <Card title="Request">
        <Facts
          of={{
            name: <code>{of.requestId}</code>,
            digest: <code>{of.digest}</code>,
            'at most per second': of.perSecond,
          }}
        />
      </Card>
      {dialog.value !== null && (
        <AskReason
          title={dialog.value === 'stop' ? 'Stop this redrive' : 'Continue this redrive'}
          verb={dialog.value === 'stop' ? 'Stop' : 'Continue'}
          danger={dialog.value === 'stop'}
          close={() => (dialog.value = null)}
          act={async because => {
            await post(`${path}/${dialog.value}`, { because })
            reload()
          }}
        >
          <p class="muted">
            {dialog.value === 'stop'
              ? 'It stops between two stages. Messages already moved are not reverted.'
              : 'It goes on with the rows that were selected at first.'}
          </p>
        </AskReason>
      )}
    </div>
  )
}

/** Exact counts: what is done, failed again, at work, and still to come. */
function Outcomes({ of }: { readonly of: Readonly<Record<string, number>> }) {
  const total = Object.values(of).reduce((sum, value) => sum + value, 0)
  const { 'parked again': failed = 0, 'at work': busy = 0, waits = 0, left = 0 } = of
  const done = total - failed - busy - waits - left
  const width = (value: number) => ({ width: `${total === 0 ? 0 : (100 * value) / total}%` })
  return (
    <section class="card" aria-label="Progress">
      <div class="in stack tight">
        <div class="bar">
          <i style={width(done)} />
          <i class="busy" style={width(busy)} />
          <i class="bad" style={width(failed)} />
        </div>
        <div class="row">
          {Object.entries(of).map(([outcome, value]) => (
            <Badge state={outcome}>
              {count(value)} {outcome}
            </Badge>
          ))}
        </div>
      </div>
    </section>
  )
}
