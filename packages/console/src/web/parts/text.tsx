import { useSignal } from '@preact/signals'
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
  ...{
    requested: 'info',
    moving: 'info',
    'at work': 'info',
    stopped: 'warn',
    unknown: 'warn',
    waits: 'info',
  },
  ...{ 'parked again': 'crit', open: 'warn', accepted: 'ok', failed: 'crit', paused: 'warn', silent: 'crit' },
  ...{ halted: 'crit', declined: 'crit', created: '', previewed: 'info', ran: 'info', verified: 'info' },
  ...{ swapped: 'ok', finished: 'ok', error: 'crit', note: 'info', reconciling: 'warn', retryable: 'info' },
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

/** An id or a key of any length and script, on one line; whole on hover, and whole when copied. */
export function Id({ text, href }: { readonly text: string; readonly href?: string }) {
  const shown = <bdi>{text}</bdi>
  return href === undefined ? (
    <span class="id" title={text}>
      {shown}
    </span>
  ) : (
    <a class="id" title={text} href={href}>
      {shown}
    </a>
  )
}

/** The server hides keys from people who may not see them. */
export const isHidden = (key: string) => key === '•••'

/** Who acted: the name, with issuer and login on hover. */
export function Who({ actor }: { readonly actor: string | null }) {
  if (actor === null || actor === undefined) return <span class="muted">–</span>
  return <bdi title={actor}>{actor.replace(/ \(via .*$/, '')}</bdi>
}

/** People in a sentence without their issuer and login. */
export function withoutLogins(sentence: string): string {
  return sentence.replaceAll(/ \(via [^()]*\)/g, '')
}

/** A name that breaks after its parts, not within a word. */
export function Name({ text }: { readonly text: string }) {
  const parts = text.split(/(?<=[_./:-])/)
  return (
    <bdi>
      {parts.map((part, index) => (
        <>
          {index > 0 && <wbr />}
          {part}
        </>
      ))}
    </bdi>
  )
}

/** The command of a terminal that does the same. */
export function Command({ text, label = true }: { readonly text: string; readonly label?: boolean }) {
  return (
    <div class="stack tight">
      {label && <span class="small muted">The same on the command line</span>}
      <div class="command">
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard */}
        <code tabIndex={0}>
          {text.split(' ').map((word, index) => (
            <>
              {index > 0 && ' '}
              <span class="word">{word}</span>
            </>
          ))}
        </code>
        <Copy text={text} what="the command" />
      </div>
    </div>
  )
}

export function Copy(props: {
  readonly text: string | (() => string)
  readonly what: string
  /** What the button says. */
  readonly verb?: string
}) {
  const { text, what, verb = 'Copy' } = props
  const copied = useSignal(false)
  const copy = () =>
    void navigator.clipboard?.writeText(typeof text === 'string' ? text : text()).then(() => {
      copied.value = true
      setTimeout(() => (copied.value = false), 2_000)
    })
  return (
    <button type="button" class="button plain small" onClick={copy} aria-label={`${verb}: ${what}`}>
      {copied.value ? 'Copied' : verb}
    </button>
  )
}

export function Facts({ of }: { readonly of: Readonly<Record<string, ComponentChildren>> }) {
  const shown = Object.entries(of).filter(
    ([, value]) => value !== null && value !== undefined && value !== '' && value !== false,
  )
  return (
    <dl class="facts">
      {shown.map(([name, value]) => (
        <div>
          <dt>{name}</dt>
          <dd>{typeof value === 'string' ? <bdi>{value}</bdi> : value}</dd>
        </div>
      ))}
    </dl>
  )
}
