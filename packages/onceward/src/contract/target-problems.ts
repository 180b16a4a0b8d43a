import { isIP } from 'node:net'
import { isRecord, oneOf, type Report, unknownKeys, wholeNumber } from './check-values.ts'
import { urlProblems } from './url-problems.ts'

const kinds = ['http', 'webhook', 'email', 'custom'] as const
const mailPorts = [25, 465, 587, 2525]
const policies = ['keyed', 'query first', 'at most once', 'manual']
/** One timer holds at most this; it is also more than any of these can reasonably be. */
const numberMax = 2 ** 31 - 1
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

/** One external target of a contract: `place` is where it stands there. */
export function targetProblems(place: string, target: unknown, wrong: Report): void {
  if (!isRecord(target)) return wrong(place, 'must be an object with a url')
  const kind = (target.kind ?? 'http') as (typeof kinds)[number]
  if (!kinds.includes(kind)) return oneOf(kind, kinds, `${place}.kind`, wrong)
  unknownKeys(target, `${kind} target`, `${place}.`, wrong)
  traitProblems(place, target, wrong)
  policyProblems(place, kind, target, wrong)
  if (kind === 'http' || kind === 'webhook') {
    urlProblems(place, target, wrong)
    headerProblems(`${place}.headers`, target, wrong)
  }
  if (kind === 'http' && target.method !== undefined)
    oneOf(target.method, ['POST', 'PUT', 'PATCH'], `${place}.method`, wrong)
  if (kind === 'webhook') webhookProblems(place, target, wrong)
  if (kind === 'email') emailProblems(place, target, wrong)
  if (kind === 'custom' && typeof target.call !== 'function')
    wrong(`${place}.call`, 'must be a function that makes one call and answers with its outcome')
}

function traitProblems(place: string, target: Record<string, unknown>, wrong: Report): void {
  const numbers = [
    'timeoutMs',
    'attemptsMax',
    'retryDelayMs',
    'retryDelayMaxMs',
    'concurrencyMax',
    'ratePerSecondMax',
    'queryDelayMs',
  ]
  for (const field of numbers) wholeNumber(target[field], `${place}.${field}`, 1, numberMax, wrong)
  wholeNumber(target.keyLifetimeMs, `${place}.keyLifetimeMs`, 1, Number.MAX_SAFE_INTEGER, wrong)
  if (isRecord(target.breaker)) {
    unknownKeys(target.breaker, 'breaker', `${place}.breaker.`, wrong)
    for (const field of ['failuresMax', 'pauseMs'])
      wholeNumber(target.breaker[field], `${place}.breaker.${field}`, 1, numberMax, wrong)
  } else if (target.breaker !== undefined && target.breaker !== false) {
    wrong(`${place}.breaker`, 'must be false, or an object with failuresMax and pauseMs')
  }
}

function policyProblems(place: string, kind: string, target: Record<string, unknown>, wrong: Report): void {
  const { policy, keyHeader, query } = target
  const keyless = kind === 'email' || kind === 'custom' || keyHeader === null
  if (policy !== undefined) oneOf(policy, policies, `${place}.policy`, wrong)
  else if (keyless)
    wrong(
      `${place}.policy`,
      `is missing: nothing says what may follow a call that may have happened. Choose one of ${policies.map(p => `'${p}'`).join(', ')}`,
    )
  if (keyHeader !== undefined && keyHeader !== null && !isHeaderName(keyHeader))
    wrong(`${place}.keyHeader`, 'must be the name of a header, or null for a target that takes no key')
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
  if (headers === undefined) return
  if (!isRecord(headers)) return wrong(place, 'must be an object of header names and values')
  const keyed = kind === 'webhook' ? signatureHeaders : [String(keyHeader ?? 'idempotency-key').toLowerCase()]
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

function webhookProblems(place: string, { secrets }: Record<string, unknown>, wrong: Report): void {
  if (!isRecord(secrets) || Object.keys(secrets).length === 0)
    return wrong(`${place}.secrets`, "must name at least one secret: { '2026-01': { env: 'NAME' } }")
  for (const [id, secret] of Object.entries(secrets)) {
    if (!/^[A-Za-z0-9_.-]{1,64}$/.test(id))
      wrong(`${place}.secrets.${id}`, 'is no key id: letters, digits, dot, dash and underscore, at most 64')
    secretProblems(`${place}.secrets.${id}`, secret, wrong)
  }
}

function emailProblems(place: string, target: Record<string, unknown>, wrong: Report): void {
  const { host, from, tls, allowPrivate, credentials } = target
  if (typeof host !== 'string' || host === '') wrong(`${place}.host`, 'must be the name of a mail server')
  else if (isIP(host) !== 0 && allowPrivate !== true)
    wrong(
      `${place}.host`,
      'is an address instead of a name, so TLS cannot tell whom it reaches: use its name',
    )
  wholeNumber(target.port, `${place}.port`, 1, 65_535, wrong)
  if (typeof target.port === 'number' && !mailPorts.includes(target.port) && allowPrivate !== true)
    wrong(`${place}.port`, `must be one of ${mailPorts.join(', ')}, or any with allowPrivate: true`)
  if (typeof from !== 'string' || !/^[^\s@<>]+@[^\s@<>]+$/.test(from))
    wrong(`${place}.from`, 'must be one address, such as orders@shop.example')
  if (tls !== undefined) oneOf(tls, ['implicit', 'starttls', 'none'], `${place}.tls`, wrong)
  if (tls === 'none' && allowPrivate !== true)
    wrong(`${place}.tls`, "may be 'none' only inside a private network: set allowPrivate: true, or use TLS")
  if (credentials === undefined) return
  if (tls === 'none') wrong(`${place}.credentials`, 'would be sent in the clear: use TLS, or leave them out')
  if (!isRecord(credentials)) return wrong(`${place}.credentials`, 'must be { user, password }')
  for (const field of ['user', 'password'])
    secretProblems(`${place}.credentials.${field}`, credentials[field], wrong)
}

function secretProblems(place: string, secret: unknown, wrong: Report): void {
  if (isRecord(secret) && typeof secret.env === 'string' && /^[A-Za-z_][A-Za-z0-9_]*$/.test(secret.env))
    return
  wrong(place, "must be { env: 'NAME' }: secrets come from the environment")
}

function isHeaderName(name: unknown): boolean {
  return typeof name === 'string' && /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name)
}
