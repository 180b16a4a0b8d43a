import { useSignal } from '@preact/signals'
import { type Json, post } from '../api.ts'
import { AskReason } from '../parts/ask-reason.tsx'
import { Loaded, useLoad } from '../parts/load.tsx'
import { Badge, Card, Empty, Facts, Head, Time, Who } from '../parts/text.tsx'
import { place } from '../router.ts'
import { may } from '../session.ts'

export function LedgerPage() {
  const id = place.value.path.split('/')[1]
  return id ? <EffectView key={id} id={id} /> : <EffectList />
}

function EffectList() {
  const state = place.value.query.get('state') ?? ''
  const load = useLoad(`ledger${state === '' ? '' : `?state=${encodeURIComponent(state)}`}`, 5_000)
  return (
    <div class="stack">
      <Head title="External effects" about="Calls that a person must decide, or all that are not completed">
        <a class="button" href={state === 'open' ? 'ledger' : 'ledger?state=open'}>
          {state === 'open' ? 'Only those for people' : 'All open calls'}
        </a>
      </Head>
      <Loaded of={load}>
        {({ effects }) => (
          <Card title={state === 'open' ? 'Not completed' : 'For people'} bare>
            {effects.length === 0 ? (
              <Empty>No external effects need attention.</Empty>
            ) : (
              <div class="scroll">
                <table>
                  <thead>
                    <tr>
                      <th>Effect</th>
                      <th>Target</th>
                      <th>State</th>
                      <th class="num">Attempts</th>
                      <th>Last attempt</th>
                      <th>Note</th>
                    </tr>
                  </thead>
                  <tbody>
                    {effects.map((one: Json) => (
                      <tr>
                        <td>
                          <a class="mono" href={`ledger/${one.id}`}>
                            {one.key}
                          </a>
                          <div class="small muted">{one.consumer}</div>
                        </td>
                        <td>{one.target}</td>
                        <td>
                          <Badge state={one.state} />
                        </td>
                        <td class="num">{one.attempts}</td>
                        <td class="small">
                          <Time at={one.lastAttemptAt} />
                        </td>
                        <td class="small">
                          <div class="cut">{one.note}</div>
                        </td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              </div>
            )}
          </Card>
        )}
      </Loaded>
    </div>
  )
}

function EffectView({ id }: { readonly id: string }) {
  const load = useLoad(`ledger/${encodeURIComponent(id)}`)
  const dialog = useSignal<'completed' | 'not done' | 'retry' | null>(null)
  return (
    <Loaded of={load}>
      {of => (
        <div class="stack">
          <Head title={of.key} about={`${of.consumer} → ${of.target}`}>
            <Badge state={of.state} />
          </Head>
          {may('operator') && of.waitsForPeople && (
            <div class="row">
              <button class="button primary" type="button" onClick={() => (dialog.value = 'completed')}>
                It happened…
              </button>
              <button class="button" type="button" onClick={() => (dialog.value = 'not done')}>
                It did not happen…
              </button>
              <button class="button" type="button" onClick={() => (dialog.value = 'retry')}>
                Try again…
              </button>
            </div>
          )}
          <Card title="Evidence">
            <Facts
              of={{
                message: of.messageId,
                'business key': of.businessKey,
                attempts: of.attempts,
                requested: <Time at={of.createdAt} />,
                'last attempt': <Time at={of.lastAttemptAt} />,
                'in doubt since': of.doubtSince === null ? null : <Time at={of.doubtSince} />,
                'answer status': of.responseStatus,
                answer: of.responseExcerpt,
                note: of.note,
                request: <code>{of.requestDigest}</code>,
              }}
            />
          </Card>
          <Card title="Acts">
            {of.actions.length === 0 ? (
              <p class="muted">Nobody acted on it.</p>
            ) : (
              <ol class="timeline">
                {of.actions.map((one: Json) => (
                  <li class="person">
                    <b>
                      {one.action}: {one.from} → {one.to}
                    </b>{' '}
                    <span class="small muted">
                      <Who actor={one.actor} /> <Time at={one.at} />
                    </span>
                    <div class="small">{one.reason}</div>
                  </li>
                ))}
              </ol>
            )}
          </Card>
          {dialog.value !== null && (
            <AskReason
              title={
                dialog.value === 'retry'
                  ? 'Try this call again'
                  : `Record that it ${dialog.value === 'completed' ? 'happened' : 'did not happen'}`
              }
              verb={dialog.value === 'retry' ? 'Try again' : 'Record'}
              command={
                dialog.value === 'retry'
                  ? of.commands.retry
                  : of.commands.reconcile.replace(
                      '--as completed',
                      dialog.value === 'completed' ? '--as completed' : '--as not-done',
                    )
              }
              close={() => (dialog.value = null)}
              act={async because => {
                if (dialog.value === 'retry') await post(`ledger/${of.id}/retry`, { because })
                else await post(`ledger/${of.id}/reconcile`, { as: dialog.value, because })
                load.reload()
              }}
            />
          )}
        </div>
      )}
    </Loaded>
  )
}
