import type { ComponentChildren } from 'preact'
import type { Accepted } from './shell.ts'

export const nothingAccepted: Accepted = { acceptMissing: false, acceptUnknown: false, accept: [] }

export function SwapChoices(props: {
  readonly tables: readonly string[]
  readonly of: Accepted
  readonly set: (change: Accepted) => void
}) {
  const { tables, of, set } = props
  const toggle = (table: string) =>
    set({
      ...of,
      accept: of.accept.includes(table) ? of.accept.filter(one => one !== table) : [...of.accept, table],
    })
  return (
    <fieldset class="stack tight">
      <legend class="small muted">
        The swap is refused if the tables differ. Accept only what you have read:
      </legend>
      {tables.map(table => (
        <Choice is={of.accept.includes(table)} turn={() => toggle(table)}>
          rows of {table} differ
        </Choice>
      ))}
      <Choice is={of.acceptMissing} turn={() => set({ ...of, acceptMissing: !of.acceptMissing })}>
        live messages are missing in the rebuilt tables
      </Choice>
      <Choice is={of.acceptUnknown} turn={() => set({ ...of, acceptUnknown: !of.acceptUnknown })}>
        retention removed the markers of messages without a position
      </Choice>
    </fieldset>
  )
}

function Choice(props: {
  readonly is: boolean
  readonly turn: () => void
  readonly children: ComponentChildren
}) {
  return (
    <label class="check">
      <input type="checkbox" checked={props.is} onChange={props.turn} />
      <span>{props.children}</span>
    </label>
  )
}
