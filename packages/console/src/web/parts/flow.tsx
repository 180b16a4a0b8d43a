import type { ComponentChildren } from 'preact'
import type { Json } from '../api.ts'
import { Flags, flagsOf } from './flags.tsx'
import { count, counted, perSecond } from './numbers.ts'
import { Spark } from './spark.tsx'
import { Badge, Id, Name } from './text.tsx'
import { duration } from './time.tsx'

/** Source → consumer → effects, with rate, lag, age and held work; below it, what is wrong. */
export function Flow({ of }: { readonly of: Json }) {
  const held = heldBy(of)
  const oldest = of.lag?.oldestSeconds ?? of.oldestPendingSeconds
  const waits = waitingFor(of)
  return (
    <article class="flow" aria-label={of.name}>
      <div class="path">
        <div class="node">
          <Sources of={of.sources} />
        </div>
        <div class="arrow" aria-hidden="true" />
        <div class="node self">
          <div class="row">
            <a class="name" href={`consumers/${encodeURIComponent(of.name)}`}>
              <Name text={of.name} />
            </a>
            <RunState of={of} />
          </div>
          <span class="small muted cut">
            {of.owner} · {of.risk}
            {of.generation > 1 && ` · generation ${of.generation}`}
          </span>
        </div>
        <div class="arrow" aria-hidden="true" />
        <div class="node">
          <Effects of={of.effects} />
        </div>
      </div>
      <dl class="figures">
        <Figure name="applied" value={perSecond(of.rate?.perSecond)}>
          <Spark of={of.rate?.applied} label={`Applied by ${of.name}`} />
        </Figure>
        <Figure name="waiting" value={waits === null ? '–' : count(waits)} />
        <Figure name="oldest" value={duration(oldest)} />
        <Figure name="held" value={count(held)} hot={held > 0} />
      </dl>
      <Flags of={of} />
    </article>
  )
}

/** Null while no process has reported what waits at a broker. */
function waitingFor({ lag, queued = 0, pending, sources }: Json): number | null {
  const isHere = sources.length === 0 || sources.some(({ kind }: Json) => kind === 'postgres')
  if ((lag?.messages ?? null) === null && !isHere) return pending > 0 ? pending : null
  return (lag?.messages ?? queued) + pending
}

export function heldBy(of: Json): number {
  return of.parked + of.dead + of.quarantined
}

/** Calls whose outcome a person decides. */
export function inDoubt({ effects }: Json): number {
  return effects
    .filter(({ state }: Json) => state === 'unknown' || state === 'reconciling')
    .reduce((sum: number, effect: Json) => sum + effect.count, 0)
}

function Sources({ of }: { readonly of: readonly Json[] }) {
  if (of.length === 0) return <span class="muted small">no source seen yet</span>
  return (
    <>
      {of.map(({ kind, place }) => (
        <div>
          <span class="kind">{kind}</span>
          <Id text={place} />
        </div>
      ))}
    </>
  )
}

/** Calls by target: those in doubt first, then what is open; completed ones are a number. */
function Effects({ of }: { readonly of: readonly Json[] }) {
  if (of.length === 0)
    return (
      <div>
        <span class="kind">effects</span>
        <span class="id">database</span>
      </div>
    )
  const targets = [...new Set(of.map(({ target }) => target as string))]
  const sum = (target: string, states: readonly string[]) =>
    of
      .filter(effect => effect.target === target && states.includes(effect.state))
      .reduce((total, effect) => total + effect.count, 0)
  return (
    <>
      {targets.map(target => {
        const doubt = sum(target, ['unknown', 'reconciling'])
        const open = sum(target, ['pending', 'in flight', 'retryable'])
        return (
          <div>
            <span class="kind">effects</span>
            <Id text={target} />
            <div class="small muted">
              {doubt > 0 && <b class="hot">{count(doubt)} in doubt · </b>}
              {open > 0 && `${count(open)} open · `}
              {count(sum(target, ['completed']))} done
            </div>
          </div>
        )
      })}
    </>
  )
}

function Figure(props: {
  readonly name: string
  readonly value: string
  readonly hot?: boolean
  readonly children?: ComponentChildren
}) {
  return (
    <div class={props.hot ? 'figure hot' : 'figure'}>
      <dt>{props.name}</dt>
      <dd>
        <b>{props.value}</b>
        {props.children}
      </dd>
    </div>
  )
}

export function RunState({ of }: { readonly of: Json }) {
  if (of.halted) return <Badge state="halted" />
  if (of.pausedBecause !== null) return <Badge state="paused" />
  if (of.openRuns > 0) return <Badge state="running">{counted(of.openRuns, 'process', 'processes')}</Badge>
  if (of.silentRuns > 0) return <Badge state="silent">no heartbeat</Badge>
  return <Badge state="">not running</Badge>
}

/** Consumers that need attention first, then by name. */
export function byUrgency(consumers: readonly Json[]): readonly Json[] {
  const rank = (of: Json) => {
    if (of.halted || (of.openRuns === 0 && of.silentRuns > 0)) return 0
    if (of.pausedBecause !== null || of.quarantined > 0) return 1
    return flagsOf(of).length > 0 || heldBy(of) > 0 ? 2 : 3
  }
  return consumers.toSorted((a, b) => rank(a) - rank(b) || (a.name < b.name ? -1 : 1))
}
