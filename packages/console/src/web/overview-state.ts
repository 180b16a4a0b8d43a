import { signal } from '@preact/signals'
import { get, type Json, trouble } from './api.ts'

export const overview = signal<Json | null>(null)

/** Live by server-sent events. While they are away, the last state stays with a banner. */
export function watchOverview(): void {
  const load = () =>
    get('overview').then(
      found => {
        overview.value = found
      },
      () => {},
    )
  void load()
  const source = new EventSource(new URL('api/live/overview', document.baseURI))
  source.addEventListener('overview', event => {
    overview.value = JSON.parse((event as MessageEvent<string>).data)
    trouble.value = null
  })
  source.addEventListener('away', () => {
    trouble.value = 'The database does not answer. What you see may be old.'
  })
  source.addEventListener('error', () => {
    trouble.value = 'Live figures are interrupted. What you see may be old.'
  })
  source.addEventListener('open', () => {
    trouble.value = null
    void load()
  })
}
