const shape = /^([a-z][a-z0-9+.-]*:)\/\/(?:([^/?#]*)@)?([^/?#]*)(.*)$/is

/**
 * The addresses of a cluster's nodes, one for each host of `amqp://user:password@a,b:5673,c/vhost`. Login,
 * path and parameters hold for all of them. Empty when one of them cannot be parsed. No other code parses
 * such an address.
 */
export function everyUrl(url: string): readonly string[] {
  const [, protocol, login, hosts, rest] = shape.exec(url) ?? []
  if (hosts === undefined) return []
  const urls = hosts
    .split(',')
    .map(host => `${protocol}//${login === undefined ? '' : `${login}@`}${host.trim()}${rest}`)
  return urls.every(one => (URL.parse(one)?.hostname ?? '') !== '') ? urls : []
}

/** The address of the first host, with everything all hosts share; null when it cannot be parsed. */
export function firstUrl(url: string): URL | null {
  const [first] = everyUrl(url)
  return first === undefined ? null : new URL(first)
}

/** The address with other parameters, for all hosts alike. Unchanged when it cannot be parsed. */
export function editUrl(url: string, edit: (parsed: URL) => void): string {
  const parsed = firstUrl(url)
  if (parsed === null) return url
  edit(parsed)
  const hosts = shape.exec(url)![3]!
  const [, protocol, login, , rest] = shape.exec(parsed.href)!
  return `${protocol}//${login === undefined ? '' : `${login}@`}${hosts}${rest}`
}

/** Host and port of each node, without credentials: safe to show. */
export function hostsOf(url: string, usualPort: number): readonly { host: string; port: number }[] {
  return everyUrl(url).map(one => {
    const { hostname, port } = new URL(one)
    return { host: hostname.replace(/^\[(.*)\]$/, '$1'), port: port === '' ? usualPort : Number(port) }
  })
}
