import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { session } from '../session.ts'
import { SavedFilters } from './saved-filters.tsx'

const hints = [
  'consumer:',
  'state:parked',
  'code:',
  'class:',
  'key:',
  'business:',
  'type:',
  'since:2h',
  'until:',
]

export function SearchBar(props: {
  readonly q: string
  readonly search: (text: string) => void
  readonly loading: boolean
  readonly cancel: () => void
}) {
  const { q, search, loading, cancel } = props
  const typed = useSignal(q)
  useEffect(() => {
    typed.value = q
  }, [q])
  const seesPayloads = session.value?.payload === 'full'
  const add = (hint: string, form: HTMLFormElement | null) => {
    typed.value = `${typed.value} ${hint}`.trim()
    form?.querySelector('input')?.focus()
  }
  return (
    <form
      class="stack tight"
      role="search"
      onSubmit={event => {
        event.preventDefault()
        search(typed.value.trim())
      }}
    >
      <div class="search">
        <input
          aria-label="Search held messages"
          placeholder={`consumer:orders code:no_account since:2h${seesPayloads ? ' "text in the payload"' : ''}`}
          value={typed.value}
          spellcheck={false}
          onInput={event => (typed.value = event.currentTarget.value)}
        />
        {loading && q !== '' ? (
          <button class="button" type="button" onClick={cancel}>
            Cancel the search
          </button>
        ) : (
          <button class="button primary" type="submit">
            Search
          </button>
        )}
        {q !== '' && (
          <button class="button" type="button" onClick={() => search('')}>
            Clear
          </button>
        )}
      </div>
      <div class="chips" role="group" aria-label="Qualifiers">
        {[...hints, ...(seesPayloads ? ['payload.'] : [])].map(hint => (
          <button
            class="chip"
            type="button"
            onClick={event => add(hint, event.currentTarget.closest('form'))}
          >
            {hint}
          </button>
        ))}
      </div>
      <SavedFilters q={q} search={search} />
    </form>
  )
}
