import { signal } from '@preact/signals'

const last = signal<{ readonly text: string; readonly page: string | null } | null>(null)
let timer: ReturnType<typeof setTimeout> | undefined

/** Shows what an act did, with its exact counts. `page`: where it continues. */
export function report(text: string, page: string | null = null): void {
  last.value = { text, page }
  clearTimeout(timer)
  timer = setTimeout(() => (last.value = null), 12_000)
}

/** The region exists before its text, so that screen readers announce it. */
export function Done() {
  const shown = last.value
  return (
    <div class="done" role="status">
      {shown !== null && (
        <p class="notice ok">
          {shown.text} {shown.page !== null && <a href={shown.page}>Show</a>}
          <button
            type="button"
            class="button plain small"
            aria-label="Dismiss"
            onClick={() => (last.value = null)}
          >
            ✕
          </button>
        </p>
      )}
    </div>
  )
}
