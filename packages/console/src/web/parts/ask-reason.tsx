import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { Dialog, Reason } from './dialog.tsx'
import { Command } from './text.tsx'

/** A dialog that needs nothing but a reason. */
export function AskReason(props: {
  readonly title: string
  readonly verb: string
  readonly danger?: boolean
  readonly command?: string
  readonly act: (because: string) => Promise<void>
  readonly close: () => void
  readonly children?: ComponentChildren
}) {
  const because = useSignal('')
  const act = async () => {
    await props.act(because.value)
    props.close()
  }
  const { title, verb, danger = false, close } = props
  return (
    <Dialog
      title={title}
      verb={verb}
      danger={danger}
      act={act}
      close={close}
      ready={because.value.trim() !== ''}
    >
      {props.children}
      <Reason value={because.value} onInput={text => (because.value = text)} />
      {props.command !== undefined && (
        <div class="stack tight">
          <span class="small muted">The same on the command line</span>
          <Command text={props.command.replace("'…'", because.value === '' ? "'…'" : shell(because.value))} />
        </div>
      )}
    </Dialog>
  )
}

export function shell(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
