import { useSignal } from '@preact/signals'
import { type Json, post } from '../api.ts'
import { type Act, ActDialog } from '../parts/act-dialog.tsx'
import { AskReason } from '../parts/ask-reason.tsx'
import { FixDialog } from '../parts/fix-dialog.tsx'
import { KeyCard } from '../parts/key-card.tsx'
import { Loaded, useLoad } from '../parts/load.tsx'
import { Badge, bytes, Card, Command, Empty, Facts, Head, Time, Who } from '../parts/text.tsx'
import { go } from '../router.ts'
import { may } from '../session.ts'

export function MessagePage({ id }: { readonly id: string }) {
  const load = useLoad(`messages/${encodeURIComponent(id)}`)
  return <Loaded of={load}>{found => <Message of={found} reload={load.reload} />}</Loaded>
}

function Message({ of, reload }: { readonly of: Json; readonly reload: () => void }) {
  const { message, payload } = of
  const act = useSignal<Act | null>(null)
  const dialog = useSignal<'fix' | 'note' | null>(null)
  const begin = (verb: Act['verb']) => {
    act.value = { verb, consumer: message.consumer, ids: [message.id] }
  }
  return (
    <div class="stack">
      <Head
        title={message.messageId ?? `Message ${message.id} without an id`}
        about={
          <>
            <a href={`messages?q=${encodeURIComponent(`consumer:${message.consumer}`)}`}>
              {message.consumer}
            </a>{' '}
            · held number {message.id} · <Time at={message.firstAt} />
          </>
        }
      >
        <Badge state={message.state} />
      </Head>
      <p class={`notice ${message.state === 'quarantined' ? 'crit' : 'warn'}`}>
        <b class="mono">{message.code}</b> <bdi>{message.reason}</bdi>
      </p>
      {message.fixWaits !== null && (
        <p class="notice">
          Not redriven yet: {message.fixWaits}. <a href="approvals">Go to approvals</a>
        </p>
      )}
      {may('operator') && (
        <div class="row" role="toolbar" aria-label="Acts on this message">
          <button class="button primary" type="button" onClick={() => begin('redrive')}>
            Redrive…
          </button>
          <button
            class="button"
            type="button"
            disabled={!of.fixable || payload.right !== 'full' || payload.as !== 'text' || !payload.whole}
            title={of.fixable ? '' : 'Start the console with --contract to fix payloads here'}
            onClick={() => (dialog.value = 'fix')}
          >
            Fix payload…
          </button>
          <button class="button" type="button" onClick={() => (dialog.value = 'note')}>
            Note a fix…
          </button>
          <button class="button" type="button" onClick={() => begin('classify')}>
            Classify…
          </button>
          <button class="button" type="button" onClick={() => begin('skip')}>
            Skip…
          </button>
          <button class="button danger" type="button" onClick={() => begin('delete')}>
            Delete…
          </button>
        </div>
      )}
      <div class="columns">
        <div class="stack">
          <Card title="Timeline">
            <Timeline of={of} />
          </Card>
          <PayloadCard of={of} />
        </div>
        <div class="stack">
          <Card title="Facts">
            <Facts
              of={{
                class: message.failureClass,
                error: message.error,
                origin: message.origin,
                position: message.position,
                key: message.key,
                'business key': message.businessKey,
                type: message.messageType,
                schema: message.schemaVersion,
                producer: message.producer,
                correlation: message.correlationId,
                attempts: message.attempts,
                delivered: `${message.seen} times`,
                mode:
                  message.campaign === null ? message.mode : `campaign ${message.campaign} (${message.mode})`,
                label: message.label,
                assignee: message.assignee,
                handler: message.handler,
                digest: <code>{message.digest}</code>,
              }}
            />
          </Card>
          {of.key !== null && <KeyCard of={of.key} self={message.id} />}
          <Card title="On the command line">
            <Command text={of.command} />
          </Card>
        </div>
      </div>
      {act.value !== null && (
        <ActDialog
          act={act.value}
          close={() => (act.value = null)}
          done={act.value.verb === 'classify' ? reload : () => go('messages')}
        />
      )}
      {dialog.value === 'fix' && (
        <FixDialog
          message={message}
          content={payload.content}
          close={() => (dialog.value = null)}
          done={reload}
        />
      )}
      {dialog.value === 'note' && (
        <AskReason
          title="Record a fix made elsewhere"
          verb="Record"
          close={() => (dialog.value = null)}
          act={async because => {
            await post(`messages/${message.id}/note-fix`, { consumer: message.consumer, because })
            reload()
          }}
        >
          <p class="muted">
            For example: the account was opened, or a new version was deployed. The message is unchanged.
            Redrive it next.
          </p>
        </AskReason>
      )}
    </div>
  )
}

function Timeline({ of }: { readonly of: Json }) {
  const entries: Json[] = of.story?.timeline ?? of.message.timeline
  if (entries.length === 0) return <Empty>Nothing is recorded.</Empty>
  return (
    <>
      {of.story !== null && <p class="muted">{of.story.summary}</p>}
      <ol class="timeline">
        {entries.map(entry => (
          <li class={toneOf(entry)}>
            <div class="row">
              <b>{entry.what}</b>
              <span class="small muted">
                <Time at={entry.at} /> {entry.by !== null && <Who actor={entry.by} />}
              </span>
            </div>
            <div class="small">
              <bdi>{entry.text}</bdi>
            </div>
          </li>
        ))}
      </ol>
      {of.limits.length > 0 && (
        <details class="small muted">
          <summary>What was not searched</summary>
          {of.limits.map((limit: string) => (
            <p>{limit}</p>
          ))}
        </details>
      )}
    </>
  )
}

function toneOf({ what }: Json): string {
  if (/attempt|parked|dead|quarantin|refused|failed/.test(what)) return 'bad'
  return /fix|classified|redrive|released|skip|approv/.test(what) ? 'person' : ''
}

function PayloadCard({ of }: { readonly of: Json }) {
  const { payload, message, headers } = of
  const side = (
    <div class="row small muted">
      {bytes(payload.bytes)}
      {payload.right === 'full' && (
        <a href={`api/messages/${message.id}/body`} download={`message-${message.id}.bin`}>
          Download
        </a>
      )}
    </div>
  )
  return (
    <Card title={payload.right === 'masked' ? 'Payload, masked' : 'Payload'} bare side={side}>
      {payload.content === null ? (
        <Empty>
          {payload.right === 'none'
            ? 'Your role does not show payloads.'
            : 'This payload cannot be masked, so it is hidden.'}
        </Empty>
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard
        <pre class="payload" tabIndex={0} role="region" aria-label="Payload">
          {payload.as === 'text' ? pretty(payload.content) : payload.content}
          {!payload.whole && `\n… ${bytes(payload.bytes)} in total; download the whole payload`}
        </pre>
      )}
      {headers !== null && (
        <details class="in">
          <summary>Headers and properties</summary>
          <pre>{JSON.stringify({ headers, properties: of.properties }, null, 2)}</pre>
        </details>
      )}
    </Card>
  )
}

export function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}
