import type { Json } from '../api.ts'
import { may } from '../session.ts'
import { counted } from './numbers.ts'
import { Badge, Id, withoutLogins } from './text.tsx'
import { Time } from './time.tsx'

export function HeldTable(props: {
  readonly rows: readonly Json[]
  readonly picked: ReadonlySet<string>
  readonly pick: (ids: ReadonlySet<string>) => void
}) {
  const { rows, picked, pick } = props
  const toggle = (id: string) => {
    const ids = new Set(picked)
    if (!ids.delete(id)) ids.add(id)
    pick(ids)
  }
  const canAct = may('operator')
  const all = picked.size === rows.length
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard
    <div class="scroll" tabIndex={0} role="group" aria-label="Held messages">
      <table class="held">
        <thead>
          <tr>
            {canAct && (
              <th class="pick">
                <input
                  type="checkbox"
                  aria-label="Select all shown"
                  checked={all}
                  onChange={() => pick(all ? new Set() : new Set(rows.map(({ id }) => id)))}
                />
              </th>
            )}
            <th class="message">Message</th>
            <th class="state">State</th>
            <th class="wide-only">Reason</th>
            <th class="wide-only key">Key</th>
            <th class="wide-only since">Held</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(row => (
            <tr key={row.id} aria-selected={picked.has(row.id)}>
              {canAct && (
                <td class="pick">
                  <input
                    type="checkbox"
                    aria-label={`Select message ${row.id}`}
                    checked={picked.has(row.id)}
                    onChange={() => toggle(row.id)}
                  />
                </td>
              )}
              <Cells of={row} />
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function Cells({ of }: { readonly of: Json }) {
  return (
    <>
      <td>
        <Id text={of.messageId ?? `no id (${of.id})`} href={`messages/${of.id}`} />
        <span class="small muted cut">{of.consumer}</span>
        <span class="narrow-only small mono">{of.code}</span>
      </td>
      <td>
        <Badge state={of.state} />
        {of.attempts > 1 && <span class="exact">{counted(of.attempts, 'attempt')}</span>}
        <span class="narrow-only small muted">
          <Time at={of.firstAt} />
        </span>
      </td>
      <td class="wide-only">
        <span class="mono small">{of.code}</span>
        <span class="cut small muted" title={withoutLogins(of.fixWaits ?? of.reason)}>
          <bdi>{withoutLogins(of.fixWaits ?? of.reason)}</bdi>
        </span>
        {(of.label !== null || of.assignee !== null) && (
          <span class="small">
            {of.label} {of.assignee !== null && <span class="muted">· {of.assignee}</span>}
          </span>
        )}
      </td>
      <td class="wide-only">{of.key === null ? <span class="muted">–</span> : <Id text={of.key} />}</td>
      <td class="wide-only">
        <Time at={of.firstAt} both />
      </td>
    </>
  )
}
