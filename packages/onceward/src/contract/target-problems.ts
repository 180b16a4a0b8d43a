import { isIP } from 'node:net'
import { isRecord, type Report } from './check-values.ts'
import type { ConsumerContract } from './contract.ts'
import { isHeaderName } from './header-name.ts'
import { secretProblems } from './options/code-kinds.ts'
import { repeatPolicies } from './options/external-target.ts'
import { problemsAt } from './options/option-problems.ts'
import { contractOptions } from './options/table.ts'
import { urlProblems } from './url-problems.ts'

const mailPorts = [25, 465, 587, 2525]
const keyHeaderDefault = String(contractOptions.at('effect.external.*.keyHeader').default)

/** Headers that authenticate the caller: their values must not be in a file. */
const secretHeaders = /^(authorization|proxy-authorization|cookie|x-api-key|api-key)$/i

/** With one of these, every call would fail before it was made. */
const framingHeaders = [
  'content-length',
  'transfer-encoding',
  'connection',
  'keep-alive',
  'upgrade',
  'expect',
]
const signatureHeaders = ['webhook-id', 'webhook-timestamp', 'webhook-signature', 'webhook-key-id']

/** Conflicting options of the external targets of a contract. */
export function externalProblems({ effect }: ConsumerContract, wrong: Report): void {
  const targets: unknown = isRecord(effect) ? effect.external : undefined
  for (const [name, target] of Object.entries(targets ?? {}))
    targetRuleProblems(`effect.external.${name}`, target, wrong)
}

/** Every problem of one external target at `place`. */
export function targetProblems(place: string, target: unknown, wrong: Report): void {
  problemsAt('effect.external.*', target, place, wrong)
  targetRuleProblems(place, target, wrong)
}

function targetRuleProblems(place: string, target: unknown, wrong: Report): void {
  if (!isRecord(target)) return
  const kind = (target.kind ?? 'http') as string
  switch (kind) {
    case 'http':
    case 'webhook':
      policyProblems(place, kind, target, wrong)
      urlProblems(place, target, wrong)
      return headerProblems(`${place}.headers`, target, wrong)
    case 'email':
      policyProblems(place, kind, target, wrong)
      return emailProblems(place, target, wrong)
    case 'custom':
      return policyProblems(place, kind, target, wrong)
  }
}

function policyProblems(place: string, kind: string, target: Record<string, unknown>, wrong: Report): void {
  const { policy, keyHeader, query } = target
  const keyless = kind === 'email' || kind === 'custom' || keyHeader === null
  if (policy === undefined && keyless)
    wrong(
      `${place}.policy`,
      `is missing: it decides what may follow a call with an unknown outcome. Choose one of ${repeatPolicies.map(p => `'${p}'`).join(', ')}`,
    )
  if (policy === 'keyed' && (kind === 'email' || keyHeader === null))
    wrong(
      `${place}.policy`,
      `cannot be 'keyed': ${kind === 'email' ? 'SMTP has no idempotency keys' : 'keyHeader is null'}. Choose 'query first', 'at most once' or 'manual'`,
    )
  if (policy === 'query first' && typeof query !== 'function')
    wrong(
      `${place}.query`,
      "is required by policy 'query first': a function that asks the target whether the call took effect",
    )
  if (policy !== 'query first' && query !== undefined)
    wrong(`${place}.query`, "is called only with policy 'query first'; set that policy, or remove query")
}

function headerProblems(
  place: string,
  { headers, kind, keyHeader }: Record<string, unknown>,
  wrong: Report,
): void {
  if (!isRecord(headers)) return
  const keyed = kind === 'webhook' ? signatureHeaders : [String(keyHeader ?? keyHeaderDefault).toLowerCase()]
  for (const [name, value] of Object.entries(headers)) {
    const lower = name.toLowerCase()
    if (!isHeaderName(name)) wrong(`${place}.${name}`, 'is not the name of a header')
    else if (lower === 'content-type')
      wrong(`${place}.${name}`, 'is set by each effect: pass contentType to effects.external')
    else if (keyed.includes(lower))
      wrong(`${place}.${name}`, 'carries the key or the signature of each call, and would be overwritten')
    else if (framingHeaders.includes(lower))
      wrong(`${place}.${name}`, 'is written by the HTTP client: remove it')
    else if (typeof value !== 'string') secretProblems(`${place}.${name}`, value, wrong)
    else if (secretHeaders.test(name))
      wrong(`${place}.${name}`, "is a credential: use { env: 'NAME' } and keep the value in the environment")
    else if (!/^[\t\x20-\x7e]*$/.test(value)) wrong(`${place}.${name}`, 'must be visible ASCII')
  }
}

function emailProblems(place: string, target: Record<string, unknown>, wrong: Report): void {
  const { host, port, tls, allowPrivate, credentials } = target
  if (typeof host === 'string' && isIP(host) !== 0 && allowPrivate !== true)
    wrong(`${place}.host`, 'is an address instead of a name, so TLS cannot verify the server: use its name')
  if (typeof port === 'number' && !mailPorts.includes(port) && allowPrivate !== true)
    wrong(`${place}.port`, `must be one of ${mailPorts.join(', ')}, or any with allowPrivate: true`)
  if (tls === 'none' && allowPrivate !== true)
    wrong(`${place}.tls`, "may be 'none' only inside a private network: set allowPrivate: true, or use TLS")
  if (tls === 'none' && credentials !== undefined)
    wrong(`${place}.credentials`, 'would be sent unencrypted: use TLS, or remove them')
}
