import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import { get, type Json } from '../api.ts'
import { Head, Problem } from './layout.tsx'

/** Reads a route, again when its path changes, and every `everyMs` if given, while the page is visible. */
export function useLoad(path: string, everyMs?: number) {
  const value = useSignal<Json | null>(null)
  const problem = useSignal<string | null>(null)
  const turn = useSignal(0)
  const run = turn.value
  useEffect(() => {
    let gone = false
    const load = () =>
      get(path).then(
        found => {
          if (gone) return
          value.value = found
          problem.value = null
        },
        error => {
          if (!gone) problem.value = (error as Error).message
        },
      )
    void load()
    const timer =
      everyMs === undefined ? undefined : setInterval(() => void (document.hidden || load()), everyMs)
    return () => {
      gone = true
      clearInterval(timer)
    }
  }, [path, run])
  return {
    value,
    problem,
    reload: () => {
      turn.value++
    },
  }
}

/** The content once it is there, else the error or a sign of work. */
export function Loaded(props: {
  readonly of: ReturnType<typeof useLoad>
  readonly children: (value: Json) => ComponentChildren
}) {
  const { value, problem } = props.of
  return (
    <>
      <Problem text={problem.value} />
      {value.value === null && problem.value === null && <p class="empty">Loading…</p>}
      {value.value !== null && props.children(value.value)}
    </>
  )
}

/** A page whose title comes from what it loads. */
export function LoadedPage(props: {
  readonly of: ReturnType<typeof useLoad>
  readonly title: string
  readonly up: readonly [string, string]
  readonly children: (value: Json) => ComponentChildren
}) {
  const { value } = props.of
  return (
    <div class="stack">
      {value.value === null && <Head title={props.title} up={props.up} />}
      <Loaded of={props.of}>{props.children}</Loaded>
    </div>
  )
}
