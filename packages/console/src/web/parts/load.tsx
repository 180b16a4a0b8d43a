import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import { get, type Json } from '../api.ts'

/** Reads a route, again when its path changes, and every `everyMs` if given. */
export function useLoad(path: string, everyMs?: number) {
  const value = useSignal<Json | null>(null)
  const problem = useSignal<string | null>(null)
  const loading = useSignal(true)
  const turn = useSignal(0)
  const run = turn.value
  useEffect(() => {
    let gone = false
    loading.value = true
    const load = () =>
      get(path).then(
        found => {
          if (gone) return
          value.value = found
          problem.value = null
          loading.value = false
        },
        error => {
          if (gone) return
          problem.value = (error as Error).message
          loading.value = false
        },
      )
    void load()
    const timer = everyMs === undefined ? undefined : setInterval(() => void load(), everyMs)
    return () => {
      gone = true
      clearInterval(timer)
    }
  }, [path, run])
  return {
    value,
    problem,
    loading,
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
      {problem.value !== null && (
        <p class="notice crit" role="alert">
          {problem.value}
        </p>
      )}
      {value.value === null && problem.value === null && <p class="empty">Loading…</p>}
      {value.value !== null && props.children(value.value)}
    </>
  )
}
