import { signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'

const tones: Readonly<Record<string, string>> = {
  ...{
    parked: 'warn',
    dead: 'warn',
    quarantined: 'crit',
    critical: 'crit',
    warning: 'warn',
    refused: 'crit',
  },
  ...{
    done: 'ok',
    applied: 'ok',
    moved: 'ok',
    approved: 'ok',
    executed: 'ok',
    completed: 'ok',
    running: 'ok',
  },
  ...{ requested: 'info', moving: 'info', 'at work': 'info', stopped: 'warn', expired: '', unknown: 'warn' },
  ...{ 'parked again': 'crit', open: 'warn', accepted: 'ok', failed: 'crit', paused: 'crit', silent: 'crit' },
}

/** A state as a word with a colour, never a colour alone. */
export function Badge({
  state,
  children,
}: {
  readonly state: string
  readonly children?: ComponentChildren
}) {
  return <span class={`badge ${tones[state] ?? ''}`}>{children ?? state}</span>
}

const now = signal(Date.now())
setInterval(() => {
  now.value = Date.now()
}, 10_000)

export function Time({ at }: { readonly at: string | null }) {
  if (at === null || at === undefined) return <span class="muted">–</span>
  const text = new Date(at).toISOString().slice(0, 19).replace('T', ' ')
  return (
    <time dateTime={at} title={`${text} UTC`}>
      {ago((now.value - Date.parse(at)) / 1000)}
    </time>
  )
}

export function ago(seconds: number): string {
  return seconds < 5 ? 'just now' : `${duration(seconds)} ago`
}

export function duration(seconds: number | null): string {
  if (seconds === null || seconds === undefined) return '–'
  if (seconds < 60) return `${Math.max(0, Math.round(seconds))} s`
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min`
  if (seconds < 172_800) return `${Math.floor(seconds / 3_600)} h`
  return `${Math.floor(seconds / 86_400)} d`
}

export function count(value: number): string {
  return value.toLocaleString('en')
}

export function bytes(value: number): string {
  if (value < 1_000) return `${value} B`
  return value < 1_000_000 ? `${(value / 1_000).toFixed(1)} kB` : `${(value / 1_000_000).toFixed(1)} MB`
}

/** Who acted: the name, with issuer and login on hover. */
export function Who({ actor }: { readonly actor: string | null }) {
  if (actor === null || actor === undefined) return <span class="muted">–</span>
  return <span title={actor}>{actor.replace(/ \(via .*$/, '')}</span>
}

/** The command of a terminal that does the same. */
export function Command({ text }: { readonly text: string }) {
  const copied = signal(false)
  const copy = () =>
    void navigator.clipboard?.writeText(text).then(() => {
      copied.value = true
    })
  return (
    <div class="command">
      <code>{text}</code>
      <button type="button" class="button plain" onClick={copy} aria-label="Copy the command">
        {copied.value ? 'Copied' : 'Copy'}
      </button>
    </div>
  )
}

export function Facts({ of }: { readonly of: Readonly<Record<string, ComponentChildren>> }) {
  const shown = Object.entries(of).filter(
    ([, value]) => value !== null && value !== undefined && value !== '',
  )
  return <dl class="facts">{shown.map(([name, value]) => [<dt>{name}</dt>, <dd>{value}</dd>])}</dl>
}

export function Card(props: {
  readonly title: string
  readonly side?: ComponentChildren
  readonly bare?: boolean
  readonly children: ComponentChildren
}) {
  return (
    <section class="card" aria-label={props.title}>
      <header>
        <h2>{props.title}</h2>
        {props.side}
      </header>
      {props.bare ? props.children : <div class="in">{props.children}</div>}
    </section>
  )
}

export function Empty({ children }: { readonly children: ComponentChildren }) {
  return <p class="empty">{children}</p>
}

export function Head(props: {
  readonly title: string
  readonly about?: ComponentChildren
  readonly children?: ComponentChildren
}) {
  return (
    <div class="head">
      <div class="grow">
        <h1 tabIndex={-1}>{props.title}</h1>
        {props.about && <p class="muted">{props.about}</p>}
      </div>
      {props.children}
    </div>
  )
}
