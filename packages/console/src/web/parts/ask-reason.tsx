import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { Dialog, Reason } from './dialog.tsx'
import { shell } from './shell.ts'
import { Command } from './text.tsx'

/** An act that is confirmed, with a reason if the audit records one. */
export function AskReason(props: {
  readonly title: string
  readonly verb: string
  readonly danger?: boolean
  readonly wide?: boolean
  readonly ready?: boolean
  /** Default true. */
  readonly asksReason?: boolean
  readonly command?: string | undefined
  readonly act: (because: string) => Promise<void>
  readonly close: () => void
  readonly children?: ComponentChildren
}) {
  const because = useSignal('')
  const { title, verb, danger = false, wide = false, close, ready = true, asksReason = true } = props
  const act = async () => {
    await props.act(because.value)
    close()
  }
  return (
    <Dialog
      title={title}
      verb={verb}
      danger={danger}
      wide={wide}
      act={act}
      close={close}
      ready={ready && (!asksReason || because.value.trim() !== '')}
    >
      {props.children}
      {asksReason && <Reason value={because.value} onInput={text => (because.value = text)} />}
      {props.command !== undefined && (
        <Command
          text={props.command.replace("'…'", () => (because.value === '' ? "'…'" : shell(because.value)))}
        />
      )}
    </Dialog>
  )
}
