import { count } from './numbers.ts'
import { Badge } from './text.tsx'

/** Exact counts: what is done, failed again, at work, and still to come. */
export function Outcomes({ of }: { readonly of: Readonly<Record<string, number>> }) {
  const total = Object.values(of).reduce((sum, value) => sum + value, 0)
  const { 'parked again': failed = 0, 'at work': busy = 0, waits = 0, left = 0 } = of
  const done = total - failed - busy - waits - left
  return (
    <section class="card" aria-label="Progress">
      <div class="in stack tight">
        <Bar
          total={total}
          parts={[
            [done, ''],
            [busy, 'busy'],
            [failed, 'bad'],
          ]}
        />
        <div class="row">
          <b>
            {count(done + failed)} of {count(total)} decided
          </b>
          {Object.entries(of).map(([outcome, value]) => (
            <Badge state={outcome}>
              {count(value)} {outcome}
            </Badge>
          ))}
        </div>
      </div>
    </section>
  )
}

export function Bar({
  total,
  parts,
}: {
  readonly total: number
  readonly parts: readonly (readonly [value: number, tone: string])[]
}) {
  return (
    <div class="bar" aria-hidden="true">
      {parts.map(([value, tone]) => (
        <i class={tone} style={{ width: `${total === 0 ? 0 : (100 * value) / total}%` }} />
      ))}
    </div>
  )
}
