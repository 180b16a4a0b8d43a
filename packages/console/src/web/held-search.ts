import { useSignal } from '@preact/signals'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { get, type Json } from './api.ts'

/** The pages of one search. Another search, or a person, cancels what still runs. */
export function useHeldSearch(q: string) {
  const rows = useSignal<readonly Json[]>([])
  const next = useSignal<string | null>(null)
  const complete = useSignal(true)
  const problem = useSignal<string | null>(null)
  const loading = useSignal(true)
  const command = useSignal<string | null>(null)
  const running = useRef<AbortController | null>(null)

  const load = async (before: string | null) => {
    running.current?.abort()
    const own = new AbortController()
    running.current = own
    loading.value = true
    try {
      const query = new URLSearchParams({ q, ...(before !== null && { before }) })
      const found = await get(`messages?${query}`, own.signal)
      if (running.current !== own) return
      rows.value = before === null ? found.rows : [...rows.value, ...found.rows]
      next.value = found.next
      complete.value = found.complete
      command.value = found.command
      problem.value = null
    } catch (error) {
      if (running.current === own) problem.value = own.signal.aborted ? null : (error as Error).message
    }
    if (running.current === own) loading.value = false
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
    return () => running.current?.abort()
  }, [q])
  return { rows, next, complete, problem, loading, command, load, cancel }
}
