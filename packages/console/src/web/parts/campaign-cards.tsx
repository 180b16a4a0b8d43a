import type { Json } from '../api.ts'
import { Card, Empty, Table } from './layout.tsx'
import { count, counted, spaced } from './numbers.ts'
import { Badge, Facts, Id } from './text.tsx'
import { utc } from './time.tsx'

/** What the campaign covers: its selection before the preview, exact ranges after it. */
export function PlanCard({ of, preview }: { readonly of: Json; readonly preview: Json | null }) {
  const { plan, selection } = of
  if (plan === null)
    return (
      <Card title="Plan">
        <div class="stack">
          <p class="muted">It is not fixed yet. The preview reads the source and applies nothing.</p>
          <Facts of={selectionFacts(selection)} />
        </div>
      </Card>
    )
  return (
    <Card title="Plan" about="Fixed by the preview; an approval is for exactly this plan" bare>
      <Table head={['Partition', '#From', '#To', '#Extent']}>
        {plan.ranges.map((range: Json) => (
          <tr>
            <td>
              <Id text={range.partition} />
            </td>
            <td class="num mono">{range.from}</td>
            <td class="num mono">{range.to}</td>
            <td class="num">{extent(range, plan.unit)}</td>
          </tr>
        ))}
      </Table>
      <div class="in">
        <Facts
          of={{
            oldest: plan.oldestMs && `${utc(new Date(plan.oldestMs).toISOString())} UTC`,
            keys: plan.keys?.join(', '),
            tables: plan.tables?.join(', '),
            'parked rows': plan.parked && `${counted(plan.parked.behind, 'message')} wait behind them`,
            ...previewFacts(preview),
          }}
        />
      </div>
    </Card>
  )
}

function extent(range: Json, unit: string): string {
  const from = Number(range.from)
  const to = Number(range.to)
  return Number.isFinite(to - from) ? `${count(to - from)} ${unit}` : '–'
}

function selectionFacts({ of, start, end, keys, states, cause }: Json): Record<string, string | null> {
  const edge = (value: Json) =>
    typeof value === 'object' && value?.timestampMs
      ? `${utc(new Date(value.timestampMs).toISOString())} UTC`
      : typeof value === 'object'
        ? JSON.stringify(value)
        : value
  return {
    from: of === 'log' ? `${edge(start) ?? 'first'} to ${edge(end) ?? 'next'}` : of,
    keys: keys?.join(', ') ?? null,
    states: states?.join(', ') ?? null,
    cause: cause ?? null,
  }
}

/** Figures of a preview; each mode counts other things. */
function previewFacts(preview: Json | null): Record<string, string> {
  const figures = Object.entries(preview ?? {}).filter(([, value]) => typeof value === 'number')
  return Object.fromEntries(figures.map(([name, value]) => [spaced(name), count(value as number)]))
}

export function FindingsCard({ rows, more }: { readonly rows: readonly Json[]; readonly more: number }) {
  if (rows.length === 0) return null
  return (
    <Card title="Findings" side={<span class="count">{count(Math.max(more, rows.length))}</span>} bare>
      <Table head={['Message', 'Outcome', 'Why', '-Position']}>
        {rows.map(row => (
          <tr>
            <td>{row.messageId === null ? <span class="muted">no id</span> : <Id text={row.messageId} />}</td>
            <td>
              <Badge state={row.outcome} />
            </td>
            <td class="small wrap">
              <span class="mono">{row.code}</span> <bdi>{row.reason}</bdi>
            </td>
            <td class="wide-only mono">{row.position}</td>
          </tr>
        ))}
      </Table>
    </Card>
  )
}

export function CompareCard({ of }: { readonly of: Json }) {
  return (
    <Card title="Comparison" about="Live tables beside the rebuilt ones" bare>
      {of.tables.length === 0 ? (
        <Empty>There is no table to compare.</Empty>
      ) : (
        <Table head={['Table', '#Only live', '#Only rebuilt', '#Different', '#Ahead', '']}>
          {of.tables.map((one: Json) => {
            const differs = one.onlyInLive + one.onlyInShadow + one.different
            return (
              <tr>
                <td>
                  <Id text={one.table} />
                </td>
                <td class="num">{count(one.onlyInLive)}</td>
                <td class="num">{count(one.onlyInShadow)}</td>
                <td class="num">{count(one.different)}</td>
                <td class="num">{count(one.ahead)}</td>
                <td class="num">
                  {differs === 0 ? <Badge state="done">equal</Badge> : <Badge state="warning">differs</Badge>}
                </td>
              </tr>
            )
          })}
        </Table>
      )}
    </Card>
  )
}
