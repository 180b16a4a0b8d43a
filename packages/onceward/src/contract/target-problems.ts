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

/** Whoever holds one of these is us: never in a file. */
const secretHeaders = /^(authorization|proxy-authorization|cookie|x-api-key|api-key)$/i

/** With one of these every call would fail before it was made. */
const framingHeaders = [
  'content-length',
  'transfer-encoding',
  'connection',
  'keep-alive',
  'upgrade',
  'expect',
]
const signatureHeaders = ['webhook-id', 'webhook-timestamp', 'webhook-signature', 'webhook-key-id']

/** What does not go together in the external targets of a contract. */
export function externalProblems({ effect }: ConsumerContract, wrong: Report): void {
  const targets: unknown = isRecord(effect) ? effect.external : undefined
  for (const [name, target] of Object.entries(targets ?? {}))
    targetRuleProblems(`effect.external.${name}`, target, wrong)
}

/** Everything that is wrong with one external target: `place` is where it stands. */
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
      `is missing: nothing says what may follow a call that may have happened. Choose one of ${repeatPolicies.map(p => `'${p}'`).join(', ')}`,
    )
  if (policy === 'keyed' && (kind === 'email' || keyHeader === null))
    wrong(
      `${place}.policy`,
      `cannot be 'keyed': ${kind === 'email' ? 'SMTP knows no keys' : 'keyHeader is null'}. Choose 'query first', 'at most once' or 'manual'`,
    )
  if (policy === 'query first' && typeof query !== 'function')
    wrong(
      `${place}.query`,
      "is needed by policy 'query first': a function that asks the target whether it happened",
    )
  if (policy !== 'query first' && query !== undefined)
    wrong(`${place}.query`, "is only asked under policy 'query first'; set it, or leave query out")
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
      wrong(`${place}.${name}`, 'comes with each effect: give contentType to effects.external')
    else if (keyed.includes(lower))
      wrong(`${place}.${name}`, 'carries the key or the signature of each call, and would be overwritten')
    else if (framingHeaders.includes(lower))
      wrong(`${place}.${name}`, 'is written by HTTP itself: leave it out')
    else if (typeof value !== 'string') secretProblems(`${place}.${name}`, value, wrong)
    else if (secretHeaders.test(name))
      wrong(`${place}.${name}`, "is a credential: give { env: 'NAME' } and keep the value in the environment")
    else if (!/^[\t\x20-\x7e]*$/.test(value)) wrong(`${place}.${name}`, 'must be visible ASCII')
  }
}

function emailProblems(place: string, target: Record<string, unknown>, wrong: Report): void {
  const { host, port, tls, allowPrivate, credentials } = target
  if (typeof host === 'string' && isIP(host) !== 0 && allowPrivate !== true)
    wrong(
      `${place}.host`,
      'is an address instead of a name, so TLS cannot tell whom it reaches: use its name',
    )
  if (typeof port === 'number' && !mailPorts.includes(port) && allowPrivate !== true)
    wrong(`${place}.port`, `must be one of ${mailPorts.join(', ')}, or any with allowPrivate: true`)
  if (tls === 'none' && allowPrivate !== true)
    wrong(`${place}.tls`, "may be 'none' only inside a private network: set allowPrivate: true, or use TLS")
  if (tls === 'none' && credentials !== undefined)
    wrong(`${place}.credentials`, 'would be sent in the clear: use TLS, or leave them out')
}
