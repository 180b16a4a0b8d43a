import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { type Json, post } from '../api.ts'
import { go } from '../router.ts'
import { type Choices, RedriveChoices } from './act-choices.tsx'
import { Dialog, Reason } from './dialog.tsx'
import { report } from './done.tsx'
import { Problem } from './layout.tsx'
import { count, counted } from './numbers.ts'
import { shell } from './shell.ts'
import { Command } from './text.tsx'

/** An act on exact messages: ids, or everything that matches a search. */
export interface Act {
  readonly verb: 'redrive' | 'skip' | 'quarantine' | 'delete' | 'classify'
  readonly consumer: string
  readonly q?: string
  readonly ids?: readonly string[]
}

const words = {
  redrive: {
    title: 'Try messages again',
    verb: 'Redrive',
    meaning:
      'Workers process them again, with the messages behind them, in order. Each is judged in the transaction that moves it.',
  },
  skip: {
    title: 'Skip messages',
    verb: 'Skip',
    meaning:
      'They are not applied. Their bytes are kept, a copy is a duplicate, and messages behind them continue.',
  },
  quarantine: {
    title: 'Quarantine messages',
    verb: 'Quarantine',
    meaning: 'They stay held, and no redrive of parked messages takes them. Their keys stay blocked.',
  },
  delete: {
    title: 'Request the deletion of messages',
    verb: 'Request deletion',
    meaning:
      'A second person must approve. Then the bytes are erased; id, identity and digest stay in the audit.',
  },
  classify: {
    title: 'Classify messages',
    verb: 'Classify',
    meaning: 'Label, assignee and note help others to see who works on them.',
  },
}

/** Freezes the selection on the server first, shows the exact counts, then acts on exactly these rows. */
export function ActDialog(props: {
  readonly act: Act
  readonly close: () => void
  readonly done: () => void
  /** Closed after a refusal: what the page shows may be old. */
  readonly refused?: () => void
}) {
  const { act, done } = props
  const { verb, consumer } = act
  const isRefused = useRef(false)
  const close = () => {
    props.close()
    if (isRefused.current) props.refused?.()
  }
  const send = (selection: Json) =>
    run(verb, selection, choices.value, props.close, done).catch(error => {
      isRefused.current = true
      throw error
    })
  const frozen = useSignal<Json | null>(null)
  const problem = useSignal<string | null>(null)
  const choices = useSignal<Choices>({ because: '', ramp: true, perSecond: '', label: '', assignee: '' })
  const set = (change: Partial<Choices>) => {
    choices.value = { ...choices.value, ...change }
  }
  useEffect(() => {
    const { q, ids } = act
    post('selections', { consumer, ...(ids === undefined ? { q } : { ids }) }).then(
      found => (frozen.value = found),
      error => (problem.value = (error as Error).message),
    )
  }, [])
  const { because, label, assignee } = choices.value
  const selection = frozen.value
  const isReady =
    selection !== null && (verb === 'classify' ? label + assignee !== '' : because.trim() !== '')
  return (
    <Dialog
      title={words[verb].title}
      verb={words[verb].verb}
      danger={verb === 'delete'}
      act={() => send(selection)}
      close={close}
      ready={isReady}
    >
      <p class="muted">{words[verb].meaning}</p>
      <Problem text={problem.value} />
      {selection === null && problem.value === null && <p class="muted">Freezing the selection…</p>}
      {selection !== null && <Preview of={selection} />}
      {verb === 'redrive' && <RedriveChoices of={choices.value} set={set} />}
      {verb === 'classify' ? (
        <div class="fields">
          <Field name="Label" value={label} set={text => set({ label: text })} />
          <Field name="Assignee" value={assignee} set={text => set({ assignee: text })} />
        </div>
      ) : (
        <Reason value={because} onInput={text => set({ because: text })} />
      )}
      {selection !== null && <Command text={commandOf(verb, selection, choices.value)} />}
    </Dialog>
  )
}

/** The same in a terminal, with what was typed. */
function commandOf(verb: Act['verb'], { commands }: Json, choices: Choices): string {
  const { because, ramp, perSecond, label, assignee } = choices
  const flags: string[] = []
  if (verb === 'redrive') flags.push(ramp ? ' --ramp' : '', perSecond === '' ? '' : ` --rate ${perSecond}`)
  if (verb === 'classify')
    flags.push(label && ` --label ${shell(label)}`, assignee && ` --assignee ${shell(assignee)}`)
  const command = commands[verb].replace("'…'", () => (because === '' ? "'…'" : shell(because)))
  return command + flags.join('')
}

/** Sends the act and reports its exact counts. A redrive goes on to its page. */
async function run(
  verb: Act['verb'],
  selection: Json,
  { because, ramp, perSecond, label, assignee }: Choices,
  close: () => void,
  done: () => void,
): Promise<void> {
  const path = `selections/${selection.id}/${verb}`
  if (verb === 'redrive') {
    const rate = perSecond === '' ? null : Number(perSecond)
    const { requestId } = await post(path, { because, ramp, perSecond: rate })
    close()
    return go(`redrives/${requestId}`)
  }
  const answer = await post(
    path,
    verb === 'classify' ? { ...(label && { label }), ...(assignee && { assignee }) } : { because },
  )
  close()
  report(resultOf(verb, selection, answer))
  done()
  if (verb === 'delete') go('approvals')
}

function resultOf(verb: Exclude<Act['verb'], 'redrive'>, { count: selected }: Json, answer: Json): string {
  if (verb === 'skip')
    return `Skipped ${counted(answer.closed, 'message')}; ${counted(answer.freed, 'message')} behind continue.`
  if (verb === 'quarantine') return `Quarantined ${counted(answer.quarantined ?? selected, 'message')}.`
  if (verb === 'classify') return `Classified ${counted(answer.rows, 'message')}.`
  return `The deletion of ${counted(selected, 'message')} waits for a second person.`
}

function Field(props: {
  readonly name: string
  readonly value: string
  readonly set: (text: string) => void
}) {
  return (
    <label class="field">
      <span>{props.name}</span>
      <input value={props.value} maxLength={200} onInput={event => props.set(event.currentTarget.value)} />
    </label>
  )
}

function Preview({ of }: { readonly of: Json }) {
  return (
    <div class="notice">
      <b>Exactly {counted(of.count, 'message')}</b> of {of.consumer}
      {of.behind > 0 && `, and ${count(of.behind)} behind them (${counted(of.keys, 'key')})`}.
      {of.more && ' More match than one act may have; act again for the rest.'}
      {of.waitsForApproval > 0 &&
        ` ${count(of.waitsForApproval)} of them wait for the approval of their fix and stay.`}
      <div class="small">
        Digest <code>{of.digest.slice(0, 16)}…</code>: if one of these rows changes before you act, the
        database refuses.
      </div>
    </div>
  )
}
