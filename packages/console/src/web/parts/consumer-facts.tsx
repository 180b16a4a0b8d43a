import type { Json } from '../api.ts'
import { limitName } from './flags.tsx'
import { Card, Table } from './layout.tsx'
import { Markdown } from './markdown.tsx'
import { count, counted, measured, spaced } from './numbers.ts'
import { Badge, Facts } from './text.tsx'
import { duration, Time } from './time.tsx'

export function ContractCard({ of }: { readonly of: Json }) {
  return (
    <Card title="Contract and promise">
      {of.contract === null ? (
        <p class="muted">
          The console was started without this contract. With <code>--contract consumer.ts</code> this page
          shows what the consumer promises, its runbooks and the findings of <code>onceward check</code>, and
          payloads can be fixed here.
        </p>
      ) : (
        <Markdown text={of.contract.replace(/^# .*\n/, '')} />
      )}
    </Card>
  )
}

export function Objectives({ rows }: { readonly rows: readonly Json[] }) {
  if (rows.length === 0) return null
  return (
    <Card title="Objectives" bare>
      <Table head={['Objective', '#Now', '#Limit', '']}>
        {rows.map(one => (
          <tr>
            <td>{limitName(one.name)}</td>
            <td class="num">{measured(one.actual, one.unit)}</td>
            <td class="num">{measured(one.limit, one.unit)}</td>
            <td class="num">
              <ObjectiveBadge of={one} />
            </td>
          </tr>
        ))}
      </Table>
    </Card>
  )
}

function ObjectiveBadge({ of }: { readonly of: Json }) {
  if (of.burnt) return <Badge state="critical">missed</Badge>
  return of.actual === null ? <Badge state="">no data</Badge> : <Badge state="done">met</Badge>
}

export function Sources({ of }: { readonly of: Json }) {
  return (
    <Card title="Sources">
      {of.readers.length === 0 ? (
        <p class="muted">No process has read a source under this name yet.</p>
      ) : (
        <div class="stack">
          {of.readers.map((one: Json) => (
            <Facts
              of={{
                [one.kind]: <code>{one.place}</code>,
                group: one.reader && <code>{one.reader}</code>,
                'position kept by': one.keeper ?? one.positionKeptBy,
                'last seen': <Time at={one.lastAt} both />,
              }}
            />
          ))}
        </div>
      )}
    </Card>
  )
}

export function Effects({ rows }: { readonly rows: readonly Json[] }) {
  return (
    <Card title="External effects">
      {rows.length === 0 ? (
        <p class="muted">It makes no external calls.</p>
      ) : (
        <Facts of={Object.fromEntries(rows.map(one => [`${one.target}, ${one.state}`, count(one.count)]))} />
      )}
    </Card>
  )
}

export function Retention({ of }: { readonly of: Json }) {
  const horizon = of.horizons[0]
  return (
    <Card title="Retention and horizon">
      {of.retention.length === 0 && horizon === undefined ? (
        <p class="muted">Nothing is removed. Correct, but tables grow without bound.</p>
      ) : (
        <Facts
          of={{
            ...Object.fromEntries(
              of.retention.map((one: Json) => [
                spaced(one.kind),
                <>
                  kept {duration(one.keepMs / 1000)}
                  {one.lastEnded && (
                    <>
                      ; last pass <Time at={one.lastEnded} />
                    </>
                  )}
                </>,
              ]),
            ),
            horizon: horizon && (
              <>
                <Time at={horizon.purgedBefore ?? horizon.before ?? null} both />{' '}
                {horizon.purgedCount !== undefined &&
                  `${counted(horizon.purgedCount, 'marker')} before it removed`}
              </>
            ),
          }}
        />
      )}
    </Card>
  )
}
