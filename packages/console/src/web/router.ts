import { signal } from '@preact/signals'

/** Path and query below the base path. */
export const place = signal(here())

function here(): { readonly path: string; readonly query: URLSearchParams } {
  const base = new URL(document.baseURI).pathname
  return { path: location.pathname.slice(base.length), query: new URLSearchParams(location.search) }
}

export function go(to: string, replace = false): void {
  const url = new URL(to, document.baseURI)
  if (replace) history.replaceState(null, '', url)
  else history.pushState(null, '', url)
  const before = place.value.path
  place.value = here()
  if (before !== place.value.path) {
    scrollTo(0, 0)
    isArriving = true
  }
}

let isArriving = false
for (const input of ['keydown', 'pointerdown'])
  addEventListener(input, () => (isArriving = false), { capture: true })

/** After a link, the title of the new page has the focus, also when it is replaced once loaded. */
export function arriveAt(title: HTMLElement | null): void {
  if (isArriving) title?.focus({ preventScroll: true })
}

addEventListener('popstate', () => {
  place.value = here()
})

/** Links of the pages change the address without loading the document again. */
addEventListener('click', event => {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return
  const link = (event.target as Element | null)?.closest?.('a')
  if (link?.target !== '' || link.hasAttribute('download') || link.origin !== location.origin) return
  if (!link.pathname.startsWith(new URL(document.baseURI).pathname)) return
  event.preventDefault()
  go(link.href)
})
