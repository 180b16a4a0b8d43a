import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { type Json, post } from '../api.ts'
import { go } from '../router.ts'
import { shell } from './ask-reason.tsx'
import { Dialog, Reason } from './dialog.tsx'
import { Command, count } from './text.tsx'

/** An act on exact messages: ids, or everything that matches a search. */
export interface Act {
  readonly verb: 'redrive' | 'skip' | 'delete' | 'classify'
  readonly consumer: string
  readonly q?: string
  readonly ids?: readonly string[]
}

const titles = {
  redrive: 'Try messages again',
  skip: 'Skip messages',
  delete: 'Request the deletion of messages',
  classify: 'Classify messages',
}
const verbs = { redrive: 'Redrive', skip: 'Skip', delete: 'Request deletion', classify: 'Classify' }
const meaning = {
  redrive:
    'Workers process them again, with the messages behind them, in order. Each is judged in the transaction that moves it.',
  skip: 'They are not applied. Their bytes are kept, a copy is a duplicate, and messages behind them continue.',
  delete:
    'A second person must approve. Then the bytes are erased; id, identity and digest stay in the audit.',
  classify: 'Label, assignee and note help others to see who works on them.',
}

/** Freezes the selection on the server first, shows the exact counts, then acts on exactly these rows. */
export function ActDialog({
  act,
  close,
  done,
}: {
  readonly act: Act
  readonly close: () => void
  readonly done: () => void
}) {
  const frozen = useSignal<Json | null>(null)
  const problem = useSignal<string | null>(null)
  const because = useSignal('')
  const ramp = useSignal(true)
  const perSecond = useSignal('')
  const label = useSignal('')
  const assignee = useSignal('')
  const { verb, consumer } = act
  useEffect(() => {
    const { q, ids } = act
    post('selections', { consumer, ...(ids === undefined ? { q } : { ids }) }).then(
      found => (frozen.value = found),
      error => (problem.value = (error as Error).message),
    )
  }, [])

  const run = async () => {
    const path = `selections/${frozen.value.id}/${verb}`
    if (verb === 'redrive') {
      const rate = perSecond.value === '' ? null : Number(perSecond.value)
      const { requestId } = await post(path, { because: because.value, ramp: ramp.value, perSecond: rate })
      close()
      return go(`redrives/${requestId}`)
    }
    if (verb === 'classify')
      await post(path, {
        ...(label.value && { label: label.value }),
        ...(assignee.value && { assignee: assignee.value }),
      })
    else await post(path, { because: because.value })
    close()
    done()
    if (verb === 'delete') go('approvals')
  }
  const selection = frozen.value
  const isReady =
    selection !== null &&
    (verb === 'classify' ? label.value + assignee.value !== '' : because.value.trim() !== '')
  return (
    <Dialog
      title={titles[verb]}
      verb={verbs[verb]}
      danger={verb === 'delete'}
      act={run}
      close={close}
      ready={isReady}
    >
      <p class="muted">{meaning[verb]}</p>
      {problem.value !== null && (
        <p class="notice crit" role="alert">
          {problem.value}
        </p>
      )}
      {selection === null && problem.value === null && <p class="muted">Freezing the selection…</p>}
      {selection !== null && <Preview of={selection} />}
      {verb === 'redrive' && (
        <>
          <label class="check">
            <input type="checkbox" checked={ramp.value} onChange={() => (ramp.value = !ramp.value)} />
            <span>
              <b>Ramp</b>: 1, then 10, then 100, then the rest. It stops when more than 10 % of the tried
              messages are parked again.
            </span>
          </label>
          <label class="field">
            <span>At most per second (optional)</span>
            <input
              type="number"
              min="1"
              max="100000"
              value={perSecond.value}
              onInput={event => (perSecond.value = event.currentTarget.value)}
            />
          </label>
        </>
      )}
      {verb === 'classify' ? (
        <>
          <label class="field">
            <span>Label</span>
            <input
              value={label.value}
              maxLength={200}
              onInput={event => (label.value = event.currentTarget.value)}
            />
          </label>
          <label class="field">
            <span>Assignee</span>
            <input
              value={assignee.value}
              maxLength={200}
              onInput={event => (assignee.value = event.currentTarget.value)}
            />
          </label>
        </>
      ) : (
        <Reason value={because.value} onInput={text => (because.value = text)} />
      )}
      {selection !== null && verb !== 'classify' && (
        <div class="stack tight">
          <span class="small muted">The same on the command line</span>
          <Command
            text={selection.commands[verb].replace(
              "'…'",
              because.value === '' ? "'…'" : shell(because.value),
            )}
          />
        </div>
      )}
    </Dialog>
  )
}

function Preview({ of }: { readonly of: Json }) {
  return (
    <div class="notice">
      <b>
        Exactly {count(of.count)} {of.count === 1 ? 'message' : 'messages'}
      </b>{' '}
      of {of.consumer}
      {of.behind > 0 &&
        `, and ${count(of.behind)} behind them (${count(of.keys)} ${of.keys === 1 ? 'key' : 'keys'})`}
      .{of.more && ' More match than one act may have; act again for the rest.'}
      {of.waitsForApproval > 0 &&
        ` ${count(of.waitsForApproval)} of them wait for the approval of their fix and stay.`}
      <div class="small">
        Digest <code>{of.digest.slice(0, 16)}…</code>: if one of these rows changes before you act, the
        database refuses.
      </div>
    </div>
  )
}
