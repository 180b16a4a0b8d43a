import { parsed } from '../api/read-input.ts'
import type { Input, Route } from '../api/route.ts'
import { routes } from '../api/routes.ts'
import { notFound } from '../http/problem.ts'

/** A route that a page shows, with its input. */
export interface Screen {
  readonly path: string
  readonly route: Route
  readonly input: Input
}

const live = routes
  .filter(({ isLive }) => isLive === true)
  .map(route => ({ route, pattern: new RegExp(`^${route.path.replaceAll(/\{\w+\}/g, '([^/]+)')}$`) }))

/** `path`: below `/api`, with its query, such as `consumers/orders` or `ledger?state=unknown`. */
export function findScreen(path: string): Screen {
  const [place = '', query = ''] = `/${path}`.split('?')
  for (const { route, pattern } of live) {
    const values = pattern.exec(place)
    if (values === null) continue
    const names = [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!)
    const params = Object.fromEntries(names.map((name, index) => [name, decoded(values[index + 1]!)]))
    const given = Object.fromEntries(new URLSearchParams(query))
    return {
      path,
      route,
      input: { params, query: route.query === undefined ? {} : parsed(route.query, given), body: {} },
    }
  }
  throw notFound(`Screen ${path}`)
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw notFound(`Screen ${text}`)
  }
}
