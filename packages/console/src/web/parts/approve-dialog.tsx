import { indentJson } from '../../../../onceward/src/operations/parking/json-layout.ts'
import { type Json, post } from '../api.ts'
import { AskReason } from './ask-reason.tsx'
import { report } from './done.tsx'
import { Diff } from './fix-dialog.tsx'
import { useLoad } from './load.tsx'
import { counted } from './numbers.ts'
import { Who } from './text.tsx'

interface Props {
  readonly of: Json
  readonly close: () => void
  readonly done: () => void
}

/** Shows exactly what is approved. */
export function ApproveDialog({ of, close, done }: Props) {
  const load = useLoad(`approvals/${of.id}`)
  const shown = load.value.value
  return (
    <AskReason
      wide={of.verb === 'fix'}
      title={of.verb === 'fix' ? 'Approve the fixed payload' : 'Approve the deletion'}
      verb="Approve"
      command={of.commands.approve}
      close={close}
      act={async because => {
        await post(`approvals/${of.id}/approve`, { digest: of.digest, because })
        report(
          of.verb === 'fix' ? 'Approved: the message can be redriven.' : 'Approved: it can be erased now.',
        )
        done()
      }}
    >
      {of.verb === 'delete' && (
        <p class="notice">
          <b>{counted(of.rows, 'message')}</b> of {of.consumer}. <Who actor={of.requestedBy} /> requests it:{' '}
          <bdi>{of.because}</bdi>
        </p>
      )}
      {shown?.diff && (
        <div class="stack tight">
          <span class="small muted">What the fix changes</span>
          <Diff lines={shown.diff} />
        </div>
      )}
      {of.verb === 'fix' && shown?.payload !== undefined && shown.payload !== null && (
        <div class="stack tight">
          <span class="small muted">The new payload, exactly as it will be applied</span>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard */}
          <pre class="payload" tabIndex={0}>
            {indentJson(shown.payload.content)}
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

export function DeclineDialog({ of, close, done }: Props) {
  return (
    <AskReason
      title={of.mine ? 'Withdraw this request' : 'Decline this request'}
      verb={of.mine ? 'Withdraw' : 'Decline'}
      danger
      command={of.commands.decline}
      close={close}
      act={async because => {
        await post(`approvals/${of.id}/decline`, { because })
        report(of.mine ? 'The request is withdrawn.' : 'The request is declined.')
        done()
      }}
    >
      <p class="muted">Nothing is changed. The reason is in the audit, for the person who asked.</p>
    </AskReason>
  )
}

/** The last step: nothing brings the bytes back. */
export function EraseDialog({ of, close, done }: Props) {
  return (
    <AskReason
      title={`Erase ${counted(of.rows, 'message')}`}
      verb="Erase"
      danger
      asksReason={false}
      command={of.commands.erase}
      close={close}
      act={async () => {
        const { closed } = await post(`approvals/${of.id}/erase`, { consumer: of.consumer })
        report(`Deleted ${counted(closed, 'message')}.`)
        done()
      }}
    >
      <p class="muted">
        The bytes are erased and cannot be restored from this database. Id, identity and digest stay in the
        audit. Messages behind them continue.
      </p>
    </AskReason>
  )
}
