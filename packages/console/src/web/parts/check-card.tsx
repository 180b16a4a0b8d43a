import { useSignal } from '@preact/signals'
import { type ApiError, get, type Json } from '../api.ts'
import { Card, Problem } from './layout.tsx'
import { counted } from './numbers.ts'
import { Badge } from './text.tsx'
import { Time } from './time.tsx'

/** Findings of `check --live`. It connects to the broker, so a person asks for it. */
export function CheckCard({ consumer }: { readonly consumer: string }) {
  const found = useSignal<Json | null>(null)
  const problem = useSignal<string | null>(null)
  const busy = useSignal(false)
  const run = async () => {
    busy.value = true
    try {
      found.value = await get(`consumers/${encodeURIComponent(consumer)}/check`)
      problem.value = null
    } catch (error) {
      problem.value = (error as ApiError).message
    }
    busy.value = false
  }
  return (
    <Card
      title="Check"
      side={
        <button type="button" class="button small" disabled={busy.value} onClick={() => void run()}>
          {busy.value ? 'Checking…' : 'Run check --live'}
        </button>
      }
    >
      <Problem text={problem.value} />
      {found.value === null ? (
        <p class="muted">Compares the contract with the database and the broker as they are now.</p>
      ) : (
        <Findings of={found.value} />
      )}
    </Card>
  )
}

function Findings({ of }: { readonly of: Json }) {
  return (
    <div class="stack">
      <p class="small muted">
        {counted(of.counts.error, 'error')}, {counted(of.counts.warning, 'warning')},{' '}
        {counted(of.counts.note, 'note')} · <Time at={of.at} />
      </p>
      {of.findings.map((one: Json) => (
        <div class="stack tight">
          <div class="row">
            <Badge state={one.waived ? '' : one.severity}>{one.waived ? 'waived' : one.severity}</Badge>
            <code>{one.id}</code>
          </div>
          <p>
            {one.found} <span class="muted">{one.reason}</span>
          </p>
          {one.fix && <p class="small">{one.fix}</p>}
        </div>
      ))}
    </div>
  )
}
