import { useSignal } from '@preact/signals'
import { type Json, post } from '../api.ts'
import { AskReason } from '../parts/ask-reason.tsx'
import { Loaded, useLoad } from '../parts/load.tsx'
import { Badge, Card, count, Empty, Facts, Head, Time, Who } from '../parts/text.tsx'
import { may } from '../session.ts'
import { pretty } from './message.tsx'

export function ApprovalsPage() {
  const load = useLoad('approvals', 3_000)
  const chosen = useSignal<Json | null>(null)
  return (
    <div class="stack">
      <Head title="Approvals" about="What needs a second person. The database refuses the requester." />
      <Loaded of={load}>
        {({ approvals }) => (
          <>
            {approvals.length === 0 && (
              <Card title="Requests">
                <Empty>There are no requests.</Empty>
              </Card>
            )}
            {approvals.map((one: Json) => (
              <Request of={one} reload={load.reload} approve={() => (chosen.value = one)} />
            ))}
          </>
        )}
      </Loaded>
      {chosen.value !== null && (
        <Approve of={chosen.value} close={() => (chosen.value = null)} done={load.reload} />
      )}
    </div>
  )
}

function Request({
  of,
  reload,
  approve,
}: {
  readonly of: Json
  readonly reload: () => void
  readonly approve: () => void
}) {
  const problem = useSignal<string | null>(null)
  const erase = () =>
    post(`approvals/${of.id}/erase`, { consumer: of.consumer }).then(reload, error => {
      problem.value = (error as Error).message
    })
  const title =
    of.verb === 'fix'
      ? `A fixed payload of ${of.consumer}`
      : `Deletion of ${count(of.rows)} ${of.rows === 1 ? 'message' : 'messages'} of ${of.consumer}`
  return (
    <Card title={title} side={<Badge state={of.state} />}>
      <div class="stack">
        <Facts
          of={{
            reason: of.because,
            'requested by': (
              <>
                <Who actor={of.requestedBy} /> · <Time at={of.requestedAt} />
              </>
            ),
            messages: of.ids.map((id: string) => <a href={`messages/${id}`}>{id} </a>),
            digest: <code>{of.digest}</code>,
            'approved by': of.approvedBy === null ? null : <Who actor={of.approvedBy} />,
            'valid until':
              of.state === 'requested'
                ? new Date(of.expiresAt).toISOString().slice(0, 16).replace('T', ' ')
                : null,
          }}
        />
        {problem.value !== null && (
          <p class="notice crit" role="alert">
            {problem.value}
          </p>
        )}
        <div class="row">
          {of.state === 'requested' && of.mine && (
            <span class="muted">You requested this: another person approves it.</span>
          )}
          {of.state === 'requested' && may('approver') && (
            <button class={`button ${of.mine ? '' : 'primary'}`} type="button" onClick={approve}>
              Review and approve…
            </button>
          )}
          {of.state === 'approved' && of.verb === 'delete' && may('operator') && (
            <button class="button danger" type="button" onClick={() => void erase()}>
              Erase now
            </button>
          )}
        </div>
      </div>
    </Card>
  )
}

function Approve({
  of,
  close,
  done,
}: {
  readonly of: Json
  readonly close: () => void
  readonly done: () => void
}) {
  const load = useLoad(`approvals/${of.id}`)
  const shown = load.value.value
  return (
    <AskReason
      title={of.verb === 'fix' ? 'Approve the fixed payload' : 'Approve the deletion'}
      verb="Approve"
      command={of.command}
      close={close}
      act={async because => {
        await post(`approvals/${of.id}/approve`, { digest: of.digest, because })
        done()
      }}
    >
      {of.verb === 'fix' && shown?.payload !== undefined && shown.payload !== null && (
        <div class="stack tight">
          <span class="small muted">The new payload, exactly as it will be applied</span>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard */}
          <pre class="payload" tabIndex={0}>
            {pretty(shown.payload.content)}
          </pre>
        </div>
      )}
      <p class="muted small">
        You approve exactly the digest <code>{of.digest.slice(0, 24)}…</code>. If anything changes, the
        approval does not apply.
      </p>
    </AskReason>
  )
}
