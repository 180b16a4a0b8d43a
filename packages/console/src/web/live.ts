import { type Signal, signal } from '@preact/signals'
import { get, type Json, refreshed, signedOut, trouble } from './api.ts'

/** The overview of all consumers; null until its first answer. */
export const overview: Signal<Json | null> = signal(null)

interface Follower {
  readonly path: string
  readonly onAnswer: (answer: Json) => void
  readonly onProblem: (text: string) => void
}

/** A page has one stream. It is opened again when the page watches other routes. */
const followers = new Set<Follower>()
let source: EventSource | null = null
let opened = ''
let isPlanned = false
const retryMs = 3_000

/** Calls a function whenever the answer of a route changes, until the returned function is called. */
export function follow(follower: Follower): () => void {
  followers.add(follower)
  plan()
  return () => {
    followers.delete(follower)
    plan()
  }
}

/** While the stream is interrupted, the last state stays with a banner. */
export function startLive(): void {
  void loadOverview(get).catch(() => {})
  open(wanted())
}

/** The stream may have been first; its answer is newer. */
async function loadOverview(read: typeof get): Promise<void> {
  const before = overview.value
  const found = await read('overview')
  if (overview.value === before) overview.value = found
}

const wanted = () =>
  new URLSearchParams([...new Set([...followers].map(({ path }) => path))].map(path => ['screen', path]))

/** After the page has been drawn: until then one card leaves and another arrives. */
function plan(): void {
  if (isPlanned || source === null) return
  isPlanned = true
  setTimeout(() => {
    isPlanned = false
    const query = wanted()
    if (query.toString() !== opened) open(query)
  })
}

function open(query: URLSearchParams): void {
  source?.close()
  opened = query.toString()
  const stream = new EventSource(new URL(`api/live?${query}`, document.baseURI))
  source = stream
  stream.addEventListener('overview', ({ data }) => {
    overview.value = JSON.parse(data)
    trouble.value = null
  })
  stream.addEventListener('screen', ({ data }) => {
    const { path, answer, problem } = JSON.parse(data)
    for (const follower of followers)
      if (follower.path === path)
        problem === undefined ? follower.onAnswer(answer) : follower.onProblem(problem)
  })
  stream.addEventListener('away', () => {
    trouble.value = 'The database does not answer. What you see may be old.'
  })
  stream.addEventListener('error', () => {
    trouble.value = 'Live figures are interrupted. What you see may be old.'
    if (stream.readyState === EventSource.CLOSED) openLater(stream)
  })
  stream.addEventListener('open', () => {
    trouble.value = null
  })
}

/** A browser gives up a stream that was answered with an error, such as 502 of a proxy. */
function openLater(closed: EventSource): void {
  setTimeout(() => {
    if (source !== closed || signedOut.value) return
    loadOverview(refreshed).then(
      () => open(wanted()),
      () => openLater(closed),
    )
  }, retryMs)
}
