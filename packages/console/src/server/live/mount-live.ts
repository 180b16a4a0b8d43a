import type { Context, Hono } from 'hono'
import { type SSEStreamingApi, streamSSE } from 'hono/streaming'
import { actsOf, callOf, reachOf, signedIn } from '../api/mount-api.ts'
import { shownOverview } from '../api/overview-routes.ts'
import type { Overview } from '../api/screens.ts'
import type { Session } from '../auth/sessions.ts'
import { isAway } from '../http/answer-error.ts'
import { Problem } from '../http/problem.ts'
import type { Parts } from '../parts.ts'
import { findScreen, type Screen } from './find-screen.ts'

/** The browser connects again, and its rights are read again. */
const streamMaxMs = 10 * 60_000
const streamsOfSessionMax = 100
const screensMax = 6

/**
 * Server-sent events: `overview` with the figures of all consumers, `screen` with the answer of a route that
 * the page shows, when it changes, and `away` while the database does not answer. All streams take their
 * statements from the same reads, once a second. A stream ends with its session.
 */
export function mountLive(app: Hono, parts: Parts): void {
  const streams = new Map<Session, number>()
  const count = (session: Session, change: 1 | -1) => {
    const open = (streams.get(session) ?? 0) + change
    if (open === 0) streams.delete(session)
    else streams.set(session, open)
  }
  app.get('/api/live', context => {
    const session = signedIn(parts, context, true)
    if ((streams.get(session) ?? 0) >= streamsOfSessionMax)
      throw new Problem(429, 'too_many', 'Too many open streams. Close some pages.')
    const screens = (context.req.queries('screen') ?? []).slice(0, screensMax).map(findScreen)
    context.header('cache-control', 'no-store')
    context.header('x-accel-buffering', 'no')
    return streamSSE(context, async stream => {
      count(session, 1)
      const live = new LiveStream(parts, session, context, stream)
      for (const screen of screens) live.add(screen)
      await live.ended
      count(session, -1)
    })
  })
}

/** `last`: the answer that the page has. */
interface Watched {
  readonly screen: Screen
  last: string
  reading: boolean
}

/** One browser page that watches. */
class LiveStream {
  readonly #parts: Parts
  readonly #session: Session
  readonly #context: Context
  readonly #stream: SSEStreamingApi
  readonly #endsMs = Date.now() + streamMaxMs
  readonly #screens: Watched[] = []
  readonly ended: Promise<void>

  constructor(parts: Parts, session: Session, context: Context, stream: SSEStreamingApi) {
    this.#parts = parts
    this.#session = session
    this.#context = context
    this.#stream = stream
    const { promise, resolve } = Promise.withResolvers<void>()
    const onTick = (sends: () => readonly Promise<void>[]) => {
      if (Date.now() > this.#endsMs || !parts.sessions.isOpen(session)) return resolve()
      for (const sent of sends()) sent.catch(() => {})
    }
    const stop = parts.screens.overview.watch(
      overview =>
        onTick(() => [this.#sendOverview(overview), ...this.#screens.map(one => this.#sendScreen(one))]),
      () => onTick(() => [this.#send('away', JSON.stringify({ at: new Date() }))]),
    )
    stream.onAbort(resolve)
    this.ended = promise.then(stop)
  }

  add(screen: Screen): void {
    this.#screens.push({ screen, last: '', reading: false })
  }

  #send(event: string, data: string): Promise<void> {
    return this.#stream.writeSSE({ event, data })
  }

  async #sendOverview(overview: Overview): Promise<void> {
    const { screens, contracts } = this.#parts
    const [{ visible }, rates] = await Promise.all([reachOf(this.#parts, this.#session), screens.rates.now()])
    await this.#send('overview', JSON.stringify(shownOverview(overview, rates, contracts, visible)))
  }

  /** A slow screen is not read a second time before it has answered. */
  async #sendScreen(one: Watched): Promise<void> {
    if (one.reading) return
    one.reading = true
    try {
      const data = JSON.stringify({ path: one.screen.path, ...(await this.#answer(one.screen)) })
      if (data === one.last) return
      one.last = data
      await this.#send('screen', data)
    } finally {
      one.reading = false
    }
  }

  async #answer({ route, input }: Screen): Promise<object> {
    const acts = actsOf(this.#parts, route, this.#session, this.#context)
    const call = callOf(this.#parts, route, this.#session, acts, this.#context)
    try {
      return { answer: await route.handle({ ...call, pool: this.#parts.screens.reads }, input) }
    } catch (error) {
      if (error instanceof Problem && !isAway(error)) return { problem: error.message }
      throw error
    }
  }
}
