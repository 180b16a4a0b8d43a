import { useSignal } from '@preact/signals'
import { type Json, post } from '../api.ts'
import { Dialog, Reason } from './dialog.tsx'
import { report } from './done.tsx'
import { beginEdit, edit, savedText, shownText } from './edited-text.ts'
import { shell } from './shell.ts'
import { Command } from './text.tsx'

/** Edit, look at the difference, then save. The contract decodes the new bytes before anything is stored. */
export function FixDialog(props: {
  readonly message: Json
  readonly content: string
  /** The contract's JSON Schema; null if its schema does not describe itself. */
  readonly schema: Json | null
  readonly close: () => void
  readonly done: () => void
}) {
  const { message, close, done } = props
  const text = useSignal(beginEdit(props.content))
  const payload = savedText(text.value)
  const because = useSignal('')
  const seen = useSignal<{ readonly payload: string; readonly answer: Json } | null>(null)
  const isSeen = seen.value?.payload === payload
  const send = (dryRun: boolean) =>
    post(`messages/${message.id}/fix`, {
      consumer: message.consumer,
      payload,
      because: because.value || '…',
      dryRun,
    })
  const act = async () => {
    if (!isSeen) {
      seen.value = { payload, answer: await send(true) }
      return
    }
    await send(false)
    close()
    report('The new payload is saved, and the original is kept. Redrive the message next.')
    done()
  }
  return (
    <Dialog
      wide
      title={`Fix the payload of ${message.messageId ?? message.id}`}
      verb={isSeen ? 'Save the fix' : 'Show the difference'}
      act={act}
      close={close}
      ready={!isSeen || because.value.trim() !== ''}
    >
      <p class="muted">
        Message id, business key and order key must stay the same. The original is kept. With risk money or
        regulatory, a second person approves the new bytes. The contract decodes them and checks its schema
        before the difference is shown, and again before they are saved.
      </p>
      {props.schema !== null && (
        <details class="small">
          <summary>Schema of the contract</summary>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard */}
          <pre class="payload" tabIndex={0}>
            {JSON.stringify(props.schema, null, 2)}
          </pre>
        </details>
      )}
      <Editor of={shownText(text.value)} set={shown => (text.value = edit(text.value, shown))} />
      {isSeen && (
        <>
          <Diff lines={seen.value!.answer.diff} />
          <Reason value={because.value} onInput={text => (because.value = text)} />
          <Command
            text={seen.value!.answer.command.replace("'…'", () =>
              because.value === '' ? "'…'" : shell(because.value),
            )}
          />
        </>
      )}
    </Dialog>
  )
}

/** Text with its first error of syntax, if it began as JSON. */
function Editor({ of, set }: { readonly of: string; readonly set: (text: string) => void }) {
  const began = useSignal(/^\s*[[{]/.test(of))
  const wrong = began.value ? syntaxError(of) : null
  return (
    <label class="field">
      <span>New payload</span>
      <textarea
        class="code"
        spellcheck={false}
        value={of}
        aria-invalid={wrong !== null}
        onInput={event => set(event.currentTarget.value)}
      />
      {wrong !== null && (
        <small class="hot" role="status">
          Not JSON: {wrong}
        </small>
      )}
    </label>
  )
}

function syntaxError(text: string): string | null {
  try {
    JSON.parse(text)
    return null
  } catch (error) {
    return (error as Error).message
  }
}

export function Diff({ lines }: { readonly lines: readonly Json[] | null }) {
  if (lines === null) return <p class="notice">The payloads are not text, or too long to compare.</p>
  const classes: Record<string, string> = { '+': 'add', '-': 'del' }
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard
    <div class="diff" tabIndex={0} role="group" aria-label="Difference">
      {lines.map(({ sign, text }) => (
        <div class={classes[sign] ?? ''}>
          {sign} {text}
        </div>
      ))}
    </div>
  )
}
