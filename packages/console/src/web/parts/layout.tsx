import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { arriveAt } from '../router.ts'
import { Name } from './text.tsx'

export function Card(props: {
  readonly title: string
  readonly about?: ComponentChildren
  readonly side?: ComponentChildren
  readonly bare?: boolean
  readonly children: ComponentChildren
}) {
  return (
    <section class="card" aria-label={props.title}>
      <header>
        <div class="grow">
          <h2>{props.title}</h2>
          {props.about && <p class="small muted">{props.about}</p>}
        </div>
        {props.side}
      </header>
      {props.bare ? props.children : <div class="in">{props.children}</div>}
    </section>
  )
}

export function Empty({
  children,
  title,
}: {
  readonly children?: ComponentChildren
  readonly title?: string
}) {
  return (
    <div class="empty">
      {title && <p class="empty-title">{title}</p>}
      {children && <p>{children}</p>}
    </div>
  )
}

export function Head(props: {
  readonly title: string
  /** The page above this one. */
  readonly up?: readonly [href: string, title: string]
  readonly about?: ComponentChildren
  readonly children?: ComponentChildren
}) {
  const title = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    document.title = `${props.title} · Onceward`
    arriveAt(title.current)
  }, [props.title])
  return (
    <div class="head">
      <div class="grow">
        {props.up && (
          <nav class="up small" aria-label="Breadcrumb">
            <a href={props.up[0]}>
              <span aria-hidden="true">← </span>
              {props.up[1]}
            </a>
          </nav>
        )}
        <h1 ref={title} tabIndex={-1}>
          <Name text={props.title} />
        </h1>
        {props.about && <p class="muted">{props.about}</p>}
      </div>
      {props.children && <div class="row">{props.children}</div>}
    </div>
  )
}

/** A column is its title; `#` before it: numbers, at the right; `-` before it: hidden on narrow screens. */
export function Table({
  head,
  children,
}: {
  readonly head: readonly string[]
  readonly children: ComponentChildren
}) {
  const classes = (title: string) =>
    title.startsWith('#') ? 'num' : title.startsWith('-') ? 'wide-only' : ''
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard
    <div class="scroll" tabIndex={0} role="group" aria-label="Table">
      <table>
        <thead>
          <tr>
            {head.map(title => (
              <th class={classes(title)}>{title.replace(/^[#-]/, '') || <span class="sr">Acts</span>}</th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  )
}

export function Problem({ text }: { readonly text: string | null }) {
  return text === null ? null : (
    <p class="notice crit" role="alert">
      {text}
    </p>
  )
}
