import { useSignal } from '@preact/signals'
import { type Json, post } from '../api.ts'
import { overview } from '../live.ts'
import { go } from '../router.ts'
import { Dialog, Reason } from './dialog.tsx'
import { SelectField, TextField, useChoice } from './fields.tsx'
import { shell } from './shell.ts'
import { Command } from './text.tsx'

const modes = {
  replay: 'Skips applied messages, applies missing ones.',
  backfill: 'The same, for history that this consumer never saw.',
  repair: 'Only messages of the given keys; ignored and stale ones are decided again.',
  rebuild: 'Applies everything again to new tables, which are then compared and swapped in.',
  forensic: 'Runs the handlers and rolls every batch back; lists what is missing or conflicting.',
} as const
type Mode = keyof typeof modes

interface Plan {
  readonly consumer: string
  readonly mode: Mode
  readonly of: 'log' | 'parked' | 'held'
  readonly since: string
  readonly until: string
  readonly keys: string
  readonly rate: string
  readonly effects: boolean
  readonly because: string
}

/** A campaign as a request: it applies nothing before its preview. */
export function PlanDialog({ close }: { readonly close: () => void }) {
  const names: readonly string[] = [
    ...new Set<string>((overview.value?.consumers ?? []).map(({ name }: Json) => name)),
  ]
  const consumer = useChoice(names)
  const typed = useSignal<Omit<Plan, 'consumer'>>({
    ...{ mode: 'replay', of: 'log', since: '', until: '', keys: '' },
    ...{ rate: '', effects: false, because: '' },
  })
  const set = (change: Partial<Plan>) => {
    typed.value = { ...typed.value, ...change }
  }
  const plan = { ...typed.value, consumer: consumer.value }
  const { mode, because } = plan
  return (
    <Dialog
      title="Plan a campaign"
      verb="Create"
      close={close}
      ready={plan.consumer !== '' && because.trim() !== ''}
      act={async () => {
        const created = await post('campaigns', requestOf(plan))
        close()
        go(`campaigns/${created.id}`)
      }}
    >
      <div class="fields">
        <SelectField name="Consumer" {...consumer} />
        <SelectField
          name="Mode"
          value={mode}
          of={Object.keys(modes)}
          set={value => set({ mode: value as Mode, effects: false })}
        />
        <SelectField
          name="Messages from"
          value={plan.of}
          of={['log', 'parked', 'held']}
          set={value => set({ of: value as Plan['of'] })}
        />
      </div>
      <p class="small muted">{modes[mode]}</p>
      <Selection of={plan} set={set} />
      {(mode === 'backfill' || mode === 'repair') && (
        <label class="check">
          <input type="checkbox" checked={plan.effects} onChange={() => set({ effects: !plan.effects })} />
          <span>Request external effects and messages too. This always needs a second person.</span>
        </label>
      )}
      <Reason value={because} onInput={text => set({ because: text })} />
      <Command text={commandOf(plan)} />
    </Dialog>
  )
}

function Selection({ of, set }: { readonly of: Plan; readonly set: (change: Partial<Plan>) => void }) {
  return (
    <div class="fields">
      {of.of === 'log' && (
        <>
          <TextField
            name="From (UTC; empty: the first)"
            hint="2026-11-01 00:00"
            value={of.since}
            set={since => set({ since })}
          />
          <TextField
            name="Until (UTC; empty: now)"
            hint="2026-11-02 00:00"
            value={of.until}
            set={until => set({ until })}
          />
        </>
      )}
      {of.of !== 'held' && (
        <TextField
          name="Only these keys (optional)"
          hint="key-1, key-2"
          value={of.keys}
          set={keys => set({ keys })}
        />
      )}
      <TextField name="At most per second (optional)" value={of.rate} set={rate => set({ rate })} />
    </div>
  )
}

const listOf = (keys: string) =>
  keys
    .split(',')
    .map(key => key.trim())
    .filter(key => key !== '')

function commandOf({ consumer, mode, of, since, until, keys, rate, effects, because }: Plan): string {
  const flags: readonly (readonly [string, string])[] = [
    ['mode', mode],
    ...(of === 'parked' ? [['from', 'parked'] as const] : []),
    ...(of === 'held' ? [['held', 'parked,dead,quarantined'] as const] : []),
    ...(of === 'log' && since.trim() !== '' ? [['from', timeOf(since)] as const] : []),
    ...(of === 'log' && until.trim() !== '' ? [['to', timeOf(until)] as const] : []),
    ...(of === 'held' ? [] : listOf(keys).map(key => ['key', shell(key)] as const)),
    ...(rate === '' ? [] : [['rate', rate] as const]),
    ['because', because === '' ? "'…'" : shell(because)],
  ]
  const given = flags.map(([name, value]) => `--${name} ${value}`)
  if (effects) given.push('--request-effects')
  return ['onceward replay create', `${consumer}.ts`, ...given].join(' ')
}

function requestOf({ consumer, mode, of, since, until, keys, rate, effects, because }: Plan): Json {
  const listed = listOf(keys)
  const chosen = listed.length > 0 ? { keys: listed } : {}
  const selection = {
    log: { of, start: edge(since, 'first'), end: edge(until, 'next'), ...chosen },
    parked: { of, ...chosen },
    held: { of, states: ['parked', 'dead', 'quarantined'] },
  }[of]
  return {
    ...{ consumer, mode, because, selection },
    ...(effects && { effects: 'requested' }),
    ...(rate !== '' && { rateMax: Number(rate) }),
  }
}

/** A time as it was typed is in UTC. */
function timeOf(text: string): string {
  const typed = text.trim()
  return /[Zz]|[+-]\d\d:?\d\d$/.test(typed) ? typed : `${typed.replace(' ', 'T')}Z`
}

function edge(text: string, otherwise: string): unknown {
  if (text.trim() === '') return otherwise
  const timestampMs = Date.parse(timeOf(text))
  if (Number.isNaN(timestampMs)) throw new Error(`"${text}" is not a time. Nothing was created.`)
  return { timestampMs }
}
