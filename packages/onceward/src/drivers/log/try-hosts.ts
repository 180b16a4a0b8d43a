import { errorText } from '../../errors.ts'

/** A node of a cluster, as `host:port`. */
export type HostName = string

export interface TryHosts<Host, Opened> {
  readonly hosts: readonly Host[]
  readonly nameOf: (host: Host) => HostName
  readonly open: (host: Host) => Promise<Opened>
  /**
   * The node answered, and retrying does not help: reported instead of the unavailability of another node.
   */
  readonly isRefusal: (error: unknown) => boolean
  readonly signal?: AbortSignal | undefined
}

/** How long a host that failed is tried after the others. */
const avoidMs = 60_000
const failedMs = new Map<HostName, number>()

/**
 * A connection to this host failed or ended: the next connection of this process tries another host first.
 */
export function avoidHost(name: HostName): void {
  failedMs.set(name, performance.now())
}

/**
 * The first host that answers. Begins at a random one, so that processes spread over the nodes, and tries the
 * next at once: callers wait only after a whole round. Rejects with a refusal if there was one, otherwise
 * with the error of each host.
 */
export async function tryHosts<Host, Opened>(options: TryHosts<Host, Opened>): Promise<Opened> {
  const { hosts, nameOf, open, isRefusal, signal } = options
  const failures: { readonly name: HostName; readonly error: unknown }[] = []
  for (const host of inTurn(hosts, nameOf)) {
    const name = nameOf(host)
    try {
      const opened = await open(host)
      failedMs.delete(name)
      return opened
    } catch (error) {
      if (signal?.aborted || hosts.length === 1) throw error
      avoidHost(name)
      failures.push({ name, error })
    }
  }
  const refused = failures.find(({ error }) => isRefusal(error))
  if (refused !== undefined) throw refused.error
  const said = failures.map(({ name, error }) => `${name}: ${errorText(error, 200)}`)
  throw new Error(`no node answers (${said.join('; ')})`, { cause: failures[0]?.error })
}

function inTurn<Host>(hosts: readonly Host[], nameOf: (host: Host) => HostName): readonly Host[] {
  const start = Math.floor(Math.random() * hosts.length)
  const rotated = [...hosts.slice(start), ...hosts.slice(0, start)]
  const since = performance.now() - avoidMs
  const failedAt = (host: Host) => Math.max(since, failedMs.get(nameOf(host)) ?? since)
  return rotated.sort((one, other) => failedAt(one) - failedAt(other))
}
