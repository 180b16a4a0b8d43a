import { Card } from './layout.tsx'
import { useLoad } from './load.tsx'
import { Bar } from './outcomes.tsx'
import { Badge } from './text.tsx'

const states = { running: 'running', passed: 'done', failed: 'failed' } as const

/** The card of the program that serves the console, such as the demo. Asked for only where there is one. */
export function HeadlineCard() {
  const load = useLoad('headline', 'live')
  const of = load.value.value?.headline ?? null
  if (of === null) return null
  return (
    <Card
      title={of.title}
      about={of.about}
      side={<Badge state={states[of.state as keyof typeof states]}>{of.state}</Badge>}
    >
      <div class="stack">
        {of.progress !== null && (
          <Bar total={1} parts={[[of.progress, of.state === 'failed' ? 'bad' : '']]} />
        )}
        <dl class="headline">
          {of.figures.map(({ name, value }: { readonly name: string; readonly value: string }) => (
            <div class="figure">
              <dt>{name}</dt>
              <dd>
                <b>{value}</b>
              </dd>
            </div>
          ))}
        </dl>
        {of.checks.length > 0 && (
          <ul class="checks">
            {of.checks.map(
              (check: { readonly name: string; readonly ok: boolean; readonly found: string }) => (
                <li>
                  <Badge state={check.ok ? 'done' : 'failed'}>{check.ok ? 'holds' : 'fails'}</Badge>
                  <span>{check.name}</span>
                  <span class="small muted">{check.found}</span>
                </li>
              ),
            )}
          </ul>
        )}
      </div>
    </Card>
  )
}
