import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import { get, type Json } from '../api.ts'
import { follow } from '../live.ts'
import { Head, Problem } from './layout.tsx'

/** Reads a route, again when its path changes. `live`: and shows its answer whenever that changes. */
export function useLoad(path: string, live?: 'live') {
  const value = useSignal<Json | null>(null)
  const problem = useSignal<string | null>(null)
  const turn = useSignal(0)
  const run = turn.value
  useEffect(() => {
    let gone = false
    let isFollowed = false
    const onAnswer = (found: Json) => {
      if (gone) return
      value.value = found
      problem.value = null
    }
    const onProblem = (text: string) => {
      if (!gone) problem.value = text
    }
    // The stream sends only what changes, so an older answer must not replace one of the stream.
    get(path).then(
      found => isFollowed || onAnswer(found),
      error => isFollowed || onProblem((error as Error).message),
    )
    const onLive = (found: Json) => {
      isFollowed = true
      onAnswer(found)
    }
    const stop = live === undefined ? undefined : follow({ path, onAnswer: onLive, onProblem })
    return () => {
      gone = true
      stop?.()
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
