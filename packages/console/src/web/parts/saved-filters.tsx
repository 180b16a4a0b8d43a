import { useSignal } from '@preact/signals'
import { type Json, post } from '../api.ts'
import { Dialog } from './dialog.tsx'
import { useLoad } from './load.tsx'
import { shell } from './shell.ts'
import { Command } from './text.tsx'

/** Searches that this person has named. They are kept in the database, so they follow to another browser. */
export function SavedFilters({ q, search }: { readonly q: string; readonly search: (text: string) => void }) {
  const load = useLoad('filters')
  const naming = useSignal(false)
  const filters: readonly Json[] = load.value.value?.filters ?? []
  const saved = filters.find(filter => filter.q === q)
  const remove = (name: string) => void post('filters/remove', { name }).then(load.reload)
  if (load.value.value === null || (filters.length === 0 && q === '')) return null
  return (
    <div class="chips" role="group" aria-label="Saved filters">
      {filters.map(filter => (
        <button
          key={filter.name}
          class="chip saved"
          type="button"
          aria-pressed={filter.q === q}
          title={filter.q}
          onClick={() => search(filter.q)}
        >
          <bdi>{filter.name}</bdi>
        </button>
      ))}
      {q !== '' && saved === undefined && (
        <button class="button plain small" type="button" onClick={() => (naming.value = true)}>
          Save this search…
        </button>
      )}
      {saved !== undefined && (
        <button class="button plain small" type="button" onClick={() => remove(saved.name)}>
          Forget “{saved.name}”
        </button>
      )}
      {naming.value && <NameDialog q={q} close={() => (naming.value = false)} done={load.reload} />}
    </div>
  )
}

function NameDialog(props: { readonly q: string; readonly close: () => void; readonly done: () => void }) {
  const name = useSignal('')
  return (
    <Dialog
      title="Save this search"
      verb="Save"
      ready={name.value.trim() !== ''}
      close={props.close}
      act={async () => {
        await post('filters', { name: name.value.trim(), q: props.q })
        props.close()
        props.done()
      }}
    >
      <code>{props.q}</code>
      <label class="field">
        <span>Name</span>
        <input
          value={name.value}
          maxLength={80}
          required
          autocomplete="off"
          onInput={event => (name.value = event.currentTarget.value)}
        />
      </label>
      <Command
        text={`onceward parked filters --save ${name.value === '' ? "'…'" : shell(name.value.trim())} --search ${shell(props.q)}`}
      />
    </Dialog>
  )
}
