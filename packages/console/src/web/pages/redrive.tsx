import { useSignal } from '@preact/signals'
import { type Json, post } from '../api.ts'
import { AskReason } from '../parts/ask-reason.tsx'
import { Card, Head, Table } from '../parts/layout.tsx'
import { LoadedPage, useLoad } from '../parts/load.tsx'
import { count } from '../parts/numbers.ts'
import { Outcomes } from '../parts/outcomes.tsx'
import { Badge, Facts, Id, Who } from '../parts/text.tsx'
import { Time } from '../parts/time.tsx'
import { may } from '../session.ts'

const up = ['redrives', 'Redrives'] as const

export function RedrivePage({ request }: { readonly request: string }) {
  const load = useLoad(`redrives/${encodeURIComponent(request)}`, 'live')
  return (
    <LoadedPage of={load} title="Redrive" up={up}>
      {found => <Redrive of={found} reload={load.reload} />}
    </LoadedPage>
  )
}

function Redrive({ of, reload }: { readonly of: Json; readonly reload: () => void }) {
  const dialog = useSignal<'stop' | 'continue' | null>(null)
  const isOpen = of.state === 'moving'
  const canContinue = of.state === 'stopped' || (isOpen && !of.conducted)
  return (
    <div class="stack">
      <Head
        title={of.because}
        up={up}
        about={
          <>
            <a href={`consumers/${encodeURIComponent(of.consumer)}`}>{of.consumer}</a> · <Who actor={of.by} />{' '}
            · <Time at={of.at} />
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
      {of.note !== null && (
        <p class="notice warn">
          {of.state === 'stopped' && 'Stopped: '}
          <bdi>{of.note}</bdi>
        </p>
      )}
      {isOpen && !of.conducted && (
        <p class="notice warn">No process of this console moves it. Continue it; nothing is moved twice.</p>
      )}
      <Outcomes of={of.outcomes} />
      <Rows rows={of.rows} />
      <Card title="Request">
        <Facts
          of={{
            name: <code>{of.requestId}</code>,
            digest: <code>{of.digest}</code>,
            'at most per second': of.perSecond === null ? null : count(of.perSecond),
          }}
        />
      </Card>
      {dialog.value !== null && (
        <Steer of={of} verb={dialog.value} close={() => (dialog.value = null)} done={reload} />
      )}
    </div>
  )
}

function Steer(props: {
  readonly of: Json
  readonly verb: 'stop' | 'continue'
  readonly close: () => void
  readonly done: () => void
}) {
  const { of, verb, close, done } = props
  const stops = verb === 'stop'
  return (
    <AskReason
      title={stops ? 'Stop this redrive' : 'Continue this redrive'}
      verb={stops ? 'Stop' : 'Continue'}
      danger={stops}
      command={of.commands[verb]}
      close={close}
      act={async because => {
        await post(`redrives/${encodeURIComponent(of.requestId)}/${verb}`, { because })
        done()
      }}
    >
      <p class="muted">
        {stops
          ? 'It stops between two stages. Messages already moved are not reverted.'
          : 'It goes on with the rows that were selected at first, with a ramp: 1, 10, 100, then the rest.'}
      </p>
    </AskReason>
  )
}

function Rows({ rows }: { readonly rows: readonly Json[] }) {
  return (
    <Card title="Messages" bare>
      <Table head={['Message', 'Outcome', 'Why']}>
        {rows.map(row => {
          const text = row.messageId ?? row.id
          return (
            <tr key={row.id}>
              <td>
                {/parked again|left|waits/.test(row.outcome) ? (
                  <Id text={text} href={`messages/${row.id}`} />
                ) : (
                  <Id text={text} />
                )}
                {row.behind && <span class="small muted">waited behind another</span>}
              </td>
              <td>
                <Badge state={row.outcome} />
              </td>
              <td class="small wrap">
                <bdi>{row.why}</bdi>
              </td>
            </tr>
          )
        })}
      </Table>
    </Card>
  )
}
