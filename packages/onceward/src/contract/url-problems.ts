import { isIP } from 'node:net'
import type { Report } from './check-values.ts'
import { contractOptions } from './options/table.ts'

const portsDefault = contractOptions.at('effect.external.*.ports').default

/**
 * The contract declares where calls go, so that a wrong address is refused here and not at the first call.
 * Names are resolved and checked again at every connection.
 */
export function urlProblems(place: string, target: Record<string, unknown>, wrong: Report): void {
  const { url: text, allowPrivate, ports } = target
  if (allowPrivate !== undefined && typeof allowPrivate !== 'boolean')
    wrong(`${place}.allowPrivate`, 'must be true or false')
  const url = typeof text === 'string' && URL.canParse(text) ? new URL(text) : null
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:'))
    return wrong(`${place}.url`, 'must be an http or https address')
  if (url.username !== '' || url.password !== '')
    wrong(`${place}.url`, "carries credentials: put them in a header given as { env: 'NAME' }")
  const portsProblem = !Array.isArray(ports) || ports.some(port => !Number.isInteger(port))
  if (ports !== undefined && portsProblem) return
  if (allowPrivate === true) return
  if (url.protocol === 'http:')
    wrong(
      `${place}.url`,
      'is not encrypted: use https, or allowPrivate: true for a target inside your own network',
    )
  const port = Number(url.port || (url.protocol === 'https:' ? 443 : 80))
  if (url.protocol === 'https:' && !((ports ?? portsDefault) as number[]).includes(port))
    wrong(`${place}.url`, `names port ${port}, which is not allowed: add ports: [${port}]`)
  if (isIP(url.hostname.replace(/^\[|\]$/g, '')) !== 0)
    wrong(
      `${place}.url`,
      'names an address instead of a host, so TLS cannot verify the server: use its name, or allowPrivate: true',
    )
}
