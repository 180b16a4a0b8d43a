import { useSignal } from '@preact/signals'
import { type Json, post } from '../api.ts'
import { AskReason } from '../parts/ask-reason.tsx'
import { report } from '../parts/done.tsx'
import { Card, Head } from '../parts/layout.tsx'
import { LoadedPage, useLoad } from '../parts/load.tsx'
import { bytes } from '../parts/numbers.ts'
import { Badge, Facts, Who } from '../parts/text.tsx'
import { Time } from '../parts/time.tsx'
import { may } from '../session.ts'

const up = ['ledger', 'External effects'] as const

export function EffectPage({ id }: { readonly id: string }) {
  const load = useLoad(`ledger/${encodeURIComponent(id)}`, 'live')
  return (
    <LoadedPage of={load} title={`Effect ${id}`} up={up}>
      {found => <Effect of={found} reload={load.reload} />}
    </LoadedPage>
  )
}

type Choice = 'completed' | 'not done' | 'retry'

const words: Readonly<Record<Choice, { readonly title: string; readonly about: string }>> = {
  completed: {
    title: 'Record that it happened',
    about: 'The call is not made again. Look at the target’s own record first, and name it in the reason.',
  },
  'not done': {
    title: 'Record that it did not happen',
    about: 'The dispatcher makes the call again, under the same idempotency key.',
  },
  retry: {
    title: 'Try this call again',
    about: 'It is due now, within the policy of its target. Safe if the target honours the idempotency key.',
  },
}

function Effect({ of, reload }: { readonly of: Json; readonly reload: () => void }) {
  const chosen = useSignal<Choice | null>(null)
  return (
    <div class="stack">
      <Head title={of.key} up={up} about={`${of.consumer} → ${of.target}`}>
        <Badge state={of.state} />
      </Head>
      {may('operator') && of.waitsForPeople && (
        <div class="row" role="toolbar" aria-label="Acts on this call">
          <button class="button primary" type="button" onClick={() => (chosen.value = 'completed')}>
            It happened…
          </button>
          <button class="button" type="button" onClick={() => (chosen.value = 'not done')}>
            It did not happen…
          </button>
          <button class="button" type="button" onClick={() => (chosen.value = 'retry')}>
            Try again…
          </button>
        </div>
      )}
      <div class="columns">
        <Card title="Evidence">
          <Facts of={evidenceOf(of)} />
        </Card>
        <Acts rows={of.actions} />
      </div>
      {chosen.value !== null && (
        <Decide of={of} choice={chosen.value} close={() => (chosen.value = null)} done={reload} />
      )}
    </div>
  )
}

function evidenceOf(of: Json) {
  return {
    message: of.messageId,
    kind: of.type,
    'mail to': of.mail?.to.join(', '),
    'mail subject': of.mail && <bdi>{of.mail.subject}</bdi>,
    'business key': of.businessKey,
    attempts: String(of.attempts),
    requested: <Time at={of.createdAt} both />,
    'last attempt': <Time at={of.lastAttemptAt} both />,
    'in doubt since': of.doubtSince === null ? null : <Time at={of.doubtSince} both />,
    'answer status': of.responseStatus === null ? null : String(of.responseStatus),
    answer: of.responseExcerpt,
    completed: of.completedAt === null ? null : <Time at={of.completedAt} both />,
    note: of.note,
    request: (
      <>
        <code>{of.requestDigest}</code> {of.contentType}, {bytes(of.bodyBytes)}
      </>
    ),
    'answer digest': of.responseDigest && <code>{of.responseDigest}</code>,
  }
}

function Acts({ rows }: { readonly rows: readonly Json[] }) {
  return (
    <Card title="Acts">
      {rows.length === 0 ? (
        <p class="muted">No person has acted on it yet.</p>
      ) : (
        <ol class="timeline">
          {rows.map(one => (
            <li class="person">
              <div class="what">
                <b>
                  {one.action}: {one.from} → {one.to}
                </b>
                <span class="small">
                  <Time at={one.at} both />
                </span>
              </div>
              <div class="small">
                <bdi>{one.reason}</bdi>
              </div>
              <div class="small muted">
                by <Who actor={one.actor} />
              </div>
            </li>
          ))}
        </ol>
      )}
    </Card>
  )
}

function Decide(props: {
  readonly of: Json
  readonly choice: Choice
  readonly close: () => void
  readonly done: () => void
}) {
  const { of, choice, close, done } = props
  const command =
    choice === 'retry'
      ? of.commands.retry
      : of.commands.reconcile.replace(
          '--as completed',
          choice === 'completed' ? '--as completed' : '--as not-done',
        )
  return (
    <AskReason
      title={words[choice].title}
      verb={choice === 'retry' ? 'Try again' : 'Record'}
      command={command}
      close={close}
      act={async because => {
        if (choice === 'retry') await post(`ledger/${of.id}/retry`, { because })
        else await post(`ledger/${of.id}/reconcile`, { as: choice, because })
        report(choice === 'retry' ? 'The call is due now.' : `Recorded: ${choice}.`)
        done()
      }}
    >
      <p class="muted">{words[choice].about}</p>
    </AskReason>
  )
}
