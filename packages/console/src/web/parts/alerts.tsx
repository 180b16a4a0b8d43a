import { useSignal } from '@preact/signals'
import type { Json } from '../api.ts'
import { Card } from './layout.tsx'
import { Loaded, useLoad } from './load.tsx'
import { Markdown } from './markdown.tsx'
import { Badge } from './text.tsx'

/** Alerts that are active now, with the runbook of the chosen one beside them. */
export function Alerts({
  consumer,
  alerts,
}: {
  readonly consumer: string
  readonly alerts: readonly Json[] | number
}) {
  const rows = typeof alerts === 'number' ? [] : alerts
  const chosen = useSignal<string | null>(null)
  if (rows.length === 0) return null
  const shown = rows.some(({ runbook }) => runbook === chosen.value) ? chosen.value : rows[0].runbook
  return (
    <Card title="Active alerts" side={<span class="count">{rows.length}</span>}>
      <div class="columns beside">
        <ul class="alerts" aria-label="Alerts">
          {rows.map(alert => (
            <li key={`${alert.name} ${alert.summary}`}>
              <button
                type="button"
                class="group"
                aria-pressed={alert.runbook === shown}
                onClick={() => (chosen.value = alert.runbook)}
              >
                <span class="row">
                  <Badge state={alert.severity} />
                  <span class="mono">{alert.name}</span>
                </span>
                <span class="small">{alert.summary}</span>
              </button>
            </li>
          ))}
        </ul>
        <Runbook key={shown} consumer={consumer} name={shown} />
      </div>
    </Card>
  )
}

function Runbook({ consumer, name }: { readonly consumer: string; readonly name: string }) {
  const load = useLoad(`consumers/${encodeURIComponent(consumer)}/runbooks/${encodeURIComponent(name)}`)
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard
    <section class="runbook" tabIndex={0} aria-label={`Runbook ${name}`}>
      {load.problem.value === null ? (
        <Loaded of={load}>{({ markdown }) => <Markdown text={markdown} />}</Loaded>
      ) : (
        <p class="muted">
          {load.problem.value} With <code>--contract</code> its runbook is here; on the command line it is{' '}
          <code>onceward runbook consumer.ts {name}</code>.
        </p>
      )}
    </section>
  )
}
