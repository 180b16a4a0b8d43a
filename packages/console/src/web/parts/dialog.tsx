import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'

export interface DialogProps {
  readonly title: string
  readonly wide?: boolean
  /** The word on the button that acts. */
  readonly verb: string
  readonly danger?: boolean
  readonly ready?: boolean
  readonly act: () => Promise<void>
  readonly close: () => void
  readonly children: ComponentChildren
}

/** A modal form. While the act runs its button is off, so that it is sent once. */
export function Dialog(props: DialogProps) {
  const ref = useRef<HTMLDialogElement>(null)
  const busy = useSignal(false)
  const problem = useSignal<string | null>(null)
  useEffect(() => ref.current?.showModal(), [])
  const submit = async (event: Event) => {
    event.preventDefault()
    if (busy.value) return
    busy.value = true
    problem.value = null
    try {
      await props.act()
    } catch (error) {
      problem.value = (error as Error).message
    }
    busy.value = false
  }
  return (
    <dialog ref={ref} class={props.wide ? 'wide' : ''} onClose={props.close} aria-label={props.title}>
      <form onSubmit={event => void submit(event)}>
        <h2>{props.title}</h2>
        {props.children}
        {problem.value !== null && (
          <p class="notice crit" role="alert">
            {problem.value}
          </p>
        )}
        <footer>
          <button type="button" class="button" onClick={() => ref.current?.close()}>
            Cancel
          </button>
          <button
            type="submit"
            class={`button ${props.danger ? 'danger' : 'primary'}`}
            disabled={busy.value || props.ready === false}
          >
            {busy.value ? 'Working…' : props.verb}
          </button>
        </footer>
      </form>
    </dialog>
  )
}

export function Reason({
  value,
  onInput,
}: {
  readonly value: string
  readonly onInput: (text: string) => void
}) {
  return (
    <label class="field">
      <span>Reason</span>
      <input
        name="because"
        required
        maxLength={2000}
        autocomplete="off"
        placeholder="Recorded in the audit, for example a ticket"
        value={value}
        onInput={event => onInput(event.currentTarget.value)}
      />
    </label>
  )
}
