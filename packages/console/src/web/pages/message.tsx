import { useSignal } from '@preact/signals'
import { type Json, post } from '../api.ts'
import { type Act, ActDialog } from '../parts/act-dialog.tsx'
import { AskReason } from '../parts/ask-reason.tsx'
import { report } from '../parts/done.tsx'
import { FixDialog } from '../parts/fix-dialog.tsx'
import { FixesCard } from '../parts/fixes-card.tsx'
import { KeyCard } from '../parts/key-card.tsx'
import { Card, Head } from '../parts/layout.tsx'
import { LoadedPage, useLoad } from '../parts/load.tsx'
import { PayloadCard } from '../parts/payload-card.tsx'
import { Badge, Command, Copy, Facts, withoutLogins } from '../parts/text.tsx'
import { Time } from '../parts/time.tsx'
import { Timeline } from '../parts/timeline.tsx'
import { go } from '../router.ts'
import { may } from '../session.ts'

export function MessagePage({ id }: { readonly id: string }) {
  const load = useLoad(`messages/${encodeURIComponent(id)}`)
  return (
    <LoadedPage of={load} title={`Message ${id}`} up={['messages', 'Messages']}>
      {found => <Message of={found} reload={load.reload} />}
    </LoadedPage>
  )
}

function Message({ of, reload }: { readonly of: Json; readonly reload: () => void }) {
  const { message } = of
  return (
    <div class="stack">
      <Head
        title={message.messageId ?? `Message ${message.id} without an id`}
        up={[
          `messages?q=${encodeURIComponent(`consumer:${message.consumer}`)}`,
          `Messages of ${message.consumer}`,
        ]}
        about={
          <>
            held number {message.id}, <Time at={message.firstAt} /> ·{' '}
            <a href={`consumers/${encodeURIComponent(message.consumer)}`}>the consumer</a>
          </>
        }
      >
        <Badge state={message.state} />
        {message.messageId !== null && <Copy text={message.messageId} what="the message id" verb="Copy id" />}
      </Head>
      <p class={`notice ${message.state === 'quarantined' ? 'crit' : 'warn'}`}>
        <b class="mono">{message.code}</b> <bdi>{message.reason}</bdi>
      </p>
      {message.fixWaits !== null && (
        <p class="notice">
          Not redriven yet: {withoutLogins(message.fixWaits)}. <a href="approvals">Go to approvals</a>
        </p>
      )}
      {may('operator') && <Acts of={of} reload={reload} />}
      <div class="columns">
        <div class="stack">
          <Card title="Timeline">
            <Timeline of={of} />
          </Card>
          <FixesCard fixes={of.fixes ?? []} />
          <PayloadCard of={of} />
        </div>
        <div class="stack">
          {of.key !== null && <KeyCard of={of.key} self={message.id} />}
          <FactsCard of={message} />
          <Card title="On the command line">
            <Command text={of.command} label={false} />
          </Card>
        </div>
      </div>
    </div>
  )
}

function FactsCard({ of }: { readonly of: Json }) {
  return (
    <Card title="Facts">
      <Facts
        of={{
          class: of.failureClass,
          error: of.error,
          origin: of.origin,
          position: of.position,
          key: of.key,
          'business key': of.businessKey,
          type: of.messageType,
          schema: of.schemaVersion,
          producer: of.producer,
          correlation: of.correlationId,
          attempts: String(of.attempts),
          delivered: of.seen === 1 ? 'once' : `${of.seen} times`,
          mode: of.campaign === null ? of.mode : `campaign ${of.campaign} (${of.mode})`,
          label: of.label,
          assignee: of.assignee,
          note: of.note,
          handler: of.handler,
          digest: <code>{of.digest}</code>,
        }}
      />
    </Card>
  )
}

function Acts({ of, reload }: { readonly of: Json; readonly reload: () => void }) {
  const { message, payload } = of
  const act = useSignal<Act | null>(null)
  const dialog = useSignal<'fix' | 'note' | null>(null)
  const begin = (verb: Act['verb']) => () => {
    act.value = { verb, consumer: message.consumer, ids: [message.id] }
  }
  const cannotFix = whyNotFixed(of)
  return (
    <>
      <div class="row" role="toolbar" aria-label="Acts on this message">
        <button class="button primary" type="button" onClick={begin('redrive')}>
          Redrive…
        </button>
        <button
          class="button"
          type="button"
          disabled={cannotFix !== null}
          title={cannotFix ?? ''}
          onClick={() => (dialog.value = 'fix')}
        >
          Fix payload…
        </button>
        <button class="button" type="button" onClick={() => (dialog.value = 'note')}>
          Note a fix…
        </button>
        <button class="button" type="button" onClick={begin('classify')}>
          Classify…
        </button>
        <button class="button" type="button" onClick={begin('skip')}>
          Skip…
        </button>
        {message.state !== 'quarantined' && (
          <button class="button" type="button" onClick={begin('quarantine')}>
            Quarantine…
          </button>
        )}
        <button class="button danger" type="button" onClick={begin('delete')}>
          Delete…
        </button>
      </div>
      {cannotFix !== null && <p class="small muted">{cannotFix}</p>}
      {act.value !== null && (
        <ActDialog
          act={act.value}
          close={() => (act.value = null)}
          done={['classify', 'quarantine'].includes(act.value.verb) ? reload : () => go('messages')}
        />
      )}
      {dialog.value === 'fix' && (
        <FixDialog
          message={message}
          content={payload.content}
          schema={of.schema}
          close={() => (dialog.value = null)}
          done={reload}
        />
      )}
      {dialog.value === 'note' && (
        <NoteFix message={message} close={() => (dialog.value = null)} done={reload} />
      )}
    </>
  )
}

function whyNotFixed({ fixable, payload }: Json): string | null {
  if (!fixable) return 'To fix payloads here, start the console with --contract and this consumer’s file.'
  if (payload.right !== 'full') return 'Your role does not show whole payloads, so it cannot replace them.'
  if (payload.as !== 'text' || !payload.whole)
    return 'This payload is not text, or too large for the editor: fix it with onceward parked fix --payload.'
  return null
}

function NoteFix(props: { readonly message: Json; readonly close: () => void; readonly done: () => void }) {
  const { message, close, done } = props
  return (
    <AskReason
      title="Record a fix made elsewhere"
      verb="Record"
      command={`onceward parked fix ${message.id} --consumer ${message.consumer} --because '…'`}
      close={close}
      act={async because => {
        await post(`messages/${message.id}/note-fix`, { consumer: message.consumer, because })
        report('The fix is recorded. Redrive the message next.')
        done()
      }}
    >
      <p class="muted">
        For example: the account was opened, or a new version was deployed. The message is unchanged. Redrive
        it next.
      </p>
    </AskReason>
  )
}
