import { serve } from '@hono/node-server'
import { createConsole } from './create-console.ts'
import type { ConsoleOptions } from './options.ts'

export interface ServeOptions extends ConsoleOptions {
  /** Default 127.0.0.1. Other addresses need a proxy or OpenID Connect. */
  readonly host?: string | undefined
  /** Default 4400; 0 for any free port. */
  readonly port?: number | undefined
  /** Who signs in by the printed link. */
  readonly person?: string | undefined
}

export interface ServedConsole {
  readonly url: string
  /** Signs in once; null unless auth is by link. */
  readonly signInUrl: string | null
  /** Another link, for this person. Only with link auth. */
  linkFor(person: string): string
  close(): Promise<void>
}

const loopback = ['127.0.0.1', '::1', 'localhost']

/** Serves the console on a port of this process. */
export async function serveConsole(options: ServeOptions): Promise<ServedConsole> {
  const host = options.host ?? '127.0.0.1'
  if (options.auth.kind === 'link' && !loopback.includes(host))
    throw new Error(`Sign-in links work on loopback only, not on ${host}. Nothing was started.`)
  const built = createConsole(options)
  const server = serve({ fetch: built.fetch, hostname: host, port: options.port ?? 4400 })
  await new Promise<void>((resolve, reject) => {
    server.once('listening', resolve)
    server.once('error', reject)
  })
  const { port } = server.address() as { port: number }
  const origin = `http://${host.includes(':') ? `[${host}]` : host}:${port}`
  const linkFor = (person: string) => `${origin}${built.signInLink(person)}`
  return {
    url: origin,
    signInUrl: options.auth.kind === 'link' ? linkFor(options.person ?? 'local') : null,
    linkFor,
    close: async () => {
      if ('closeAllConnections' in server) server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
      await built.close()
    },
  }
}
