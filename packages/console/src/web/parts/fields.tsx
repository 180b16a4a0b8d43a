import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'

/** Names that arrive, grow or shrink while a dialog is open: the first is chosen once, and the choice stays. */
export function useChoice(names: readonly string[]) {
  const chosen = useSignal('')
  const first = names[0] ?? ''
  useEffect(() => {
    if (chosen.value === '') chosen.value = first
  }, [first])
  const value = chosen.value === '' ? first : chosen.value
  return {
    value,
    of: value === '' || names.includes(value) ? names : [value, ...names],
    set: (name: string) => {
      chosen.value = name
    },
  }
}

export function TextField(props: {
  readonly name: string
  readonly value: string
  readonly set: (text: string) => void
  readonly hint?: string
  readonly required?: boolean
}) {
  const { name, value, set, hint = '', required = false } = props
  return (
    <label class="field">
      <span>{name}</span>
      <input
        value={value}
        placeholder={hint}
        required={required}
        autocomplete="off"
        onInput={event => set(event.currentTarget.value)}
      />
    </label>
  )
}

export function SelectField(props: {
  readonly name: string
  readonly value: string
  readonly of: readonly string[]
  readonly set: (value: string) => void
}) {
  return (
    <label class="field">
      <span>{props.name}</span>
      <select value={props.value} onChange={event => props.set(event.currentTarget.value)}>
        {props.of.map(one => (
          <option key={one} value={one}>
            {one}
          </option>
        ))}
      </select>
    </label>
  )
}
