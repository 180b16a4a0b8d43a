import { useSignal } from '@preact/signals'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { get, type Json, refreshed } from './api.ts'

/** The share of the time that refreshes may take: a search in payloads costs the database seconds. */
const refreshShare = 0.1
const refreshPauseMs = 500

/** The pages of one search. Another search, or a person, cancels what still runs. */
export function useHeldSearch(q: string) {
  const rows = useSignal<readonly Json[]>([])
  const next = useSignal<string | null>(null)
  const complete = useSignal(true)
  const problem = useSignal<string | null>(null)
  const loading = useSignal(true)
  const command = useSignal<string | null>(null)
  const running = useRef<AbortController | null>(null)
  const refreshing = useRef<{ timer?: ReturnType<typeof setTimeout>; notBeforeMs: number }>({
    notBeforeMs: 0,
  })

  const show = (found: Json, before: string | null) => {
    rows.value = before === null ? found.rows : [...rows.value, ...found.rows]
    next.value = found.next
    complete.value = found.complete
    command.value = found.command
    problem.value = null
  }
  /** `isWanted`: of a refresh, whose rows are not shown once a person has begun with those that are. */
  const load = async (before: string | null, isWanted?: () => boolean) => {
    running.current?.abort()
    const own = new AbortController()
    running.current = own
    if (isWanted === undefined) loading.value = true
    const beganMs = performance.now()
    try {
      const query = new URLSearchParams({ q, ...(before !== null && { before }) })
      const read = isWanted === undefined ? get : refreshed
      const found = await read(`messages?${query}`, own.signal)
      if (running.current !== own) return
      if (isWanted?.() !== false) show(found, before)
    } catch (error) {
      if (running.current === own) problem.value = own.signal.aborted ? null : (error as Error).message
    }
    if (running.current !== own) return
    running.current = null
    loading.value = false
    const endedMs = performance.now()
    refreshing.current.notBeforeMs = endedMs + (endedMs - beganMs) / refreshShare
  }
  /** Reads the first page again, once no search runs. `isWanted` is asked when it would begin. */
  const refresh = (isWanted: () => boolean) => {
    const own = refreshing.current
    clearTimeout(own.timer)
    const waitMs = running.current === null ? own.notBeforeMs - performance.now() : refreshPauseMs
    own.timer = setTimeout(
      () => {
        if (running.current !== null) refresh(isWanted)
        else if (isWanted()) void load(null, isWanted)
      },
      Math.max(0, waitMs),
    )
  }
  /** What was found so far stays. Rows that were not looked at may match too. */
  const cancel = () => {
    running.current?.abort()
    running.current = null
    loading.value = false
    complete.value = false
  }
  useLayoutEffect(() => {
    // Rows of another search must not be selected.
    rows.value = []
    complete.value = true
    void load(null)
    return () => {
      running.current?.abort()
      clearTimeout(refreshing.current.timer)
    }
  }, [q])
  return { rows, next, complete, problem, loading, command, load, refresh, cancel }
}
