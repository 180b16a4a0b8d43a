import type { Json } from '../api.ts'
import { Groups } from '../parts/groups.tsx'
import { Loaded, useLoad } from '../parts/load.tsx'
import { Card, count, duration, Empty, Facts, Head, Time } from '../parts/text.tsx'
import { go } from '../router.ts'
import { RunState } from './overview.tsx'

export function ConsumerPage({ name }: { readonly name: string }) {
  const load = useLoad(`consumers/${encodeURIComponent(name)}`, 2_000)
  return <Loaded of={load}>{found => <Consumer of={found} />}</Loaded>
}

function Consumer({ of }: { readonly of: Json }) {
  const newest = of.generations.at(-1)
  const search = (q: string) => go(`messages?q=${encodeURIComponent(q)}`)
  return (
    <div class="stack">
      <Head title={of.name} about={`${newest.owner} · risk ${newest.risk}`}>
        <RunState of={newest} />
      </Head>
      {newest.pausedBecause !== null && <p class="notice crit">Paused: {newest.pausedBecause}</p>}
      <div class="tiles">
        <Tile name="pending" value={newest.pending} />
        <Tile name="parked" value={newest.parked} hot />
        <Tile name="dead" value={newest.dead} hot />
        <Tile name="quarantined" value={newest.quarantined} hot />
      </div>
      <Groups q={`consumer:${of.name}`} choose={search} />
      <div class="columns">
        <div class="stack">
          <Card title="Partitions" bare>
            {of.partitions.length === 0 ? (
              <Empty>It reads no partitions of a log.</Empty>
            ) : (
              <Partitions rows={of.partitions} />
            )}
          </Card>
          <Card title="Contract">
            {of.contract === null ? (
              <p class="muted">Start the console with --contract to show the contract and its promise.</p>
            ) : (
              <pre>{of.contract}</pre>
            )}
          </Card>
        </div>
        <div class="stack">
          <Card title="Processes">
            <Facts
              of={{
                running: newest.openRuns,
                'without heartbeat': newest.silentRuns,
                'oldest pending': duration(newest.oldestPendingSeconds),
                sources: of.readers.map((reader: Json) => (
                  <div>
                    {reader.kind} <code>{reader.place}</code>
                  </div>
                )),
              }}
            />
          </Card>
          <Card title="External effects">
            {of.effects.length === 0 ? (
              <p class="muted">No external effects.</p>
            ) : (
              <Facts
                of={Object.fromEntries(
                  of.effects.map((one: Json) => [`${one.target}, ${one.state}`, count(one.count)]),
                )}
              />
            )}
          </Card>
          <Card title="Retention">
            {of.retention.length === 0 ? (
              <p class="muted">Correct, but tables grow without bound.</p>
            ) : (
              <Facts
                of={Object.fromEntries(
                  of.retention.map((one: Json) => [
                    one.kind,
                    <>
                      {duration(one.keepMs / 1000)}, last pass <Time at={one.lastEnded} />
                    </>,
                  ]),
                )}
              />
            )}
          </Card>
        </div>
      </div>
    </div>
  )
}

function Tile({
  name,
  value,
  hot,
}: {
  readonly name: string
  readonly value: number
  readonly hot?: boolean
}) {
  return (
    <div class={`card tile ${hot && value > 0 ? 'hot' : ''}`}>
      <b>{count(value)}</b>
      <span class="muted">{name}</span>
    </div>
  )
}

function Partitions({ rows }: { readonly rows: readonly Json[] }) {
  return (
    <div class="scroll">
      <table>
        <thead>
          <tr>
            <th>Partition</th>
            <th>Owner</th>
            <th class="num">Next position</th>
            <th class="num">Moved</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(row => (
            <tr>
              <td class="mono">{row.partition}</td>
              <td>{row.owner}</td>
              <td class="num mono">{row.next ?? '–'}</td>
              <td class="num">{duration(row.secondsAgo)} ago</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
