import { isRecord } from '../check-values.ts'
import { isHeaderName } from '../header-name.ts'
import { milliseconds, wholeNumber } from './amount-kinds.ts'
import { codeOnly, header, secret } from './code-kinds.ts'
import { inWords } from './in-words.ts'
import { record, section, unchecked } from './kind.ts'
import { computed, option } from './option.ts'
import { flag, ports, text, textOrNull, word } from './text-kinds.ts'

/** The most one timer can hold; larger than any sensible value. */
const numberMax = 2 ** 31 - 1
const dayMs = 86_400_000
const count = wholeNumber(1, numberMax)
const wait = milliseconds(1, numberMax)
const kinds = ['http', 'webhook', 'email', 'custom'] as const
export const repeatPolicies = ['keyed', 'query first', 'at most once', 'manual'] as const
const target = section('must be an object with a url', {
  variants: { by: 'kind', of: kinds, fallback: 'http' },
})
const breaker = section(names => `must be false, or an object with ${inWords(names, 'and')}`, {
  orFalse: true,
})
const http = { onlyFor: ['http'] } as const
const web = { onlyFor: ['http', 'webhook'] } as const
const email = { onlyFor: ['email'] } as const

/** Options of every kind of target. `target-problems.ts` checks which policies fit which targets. */
const traitOptions = [
  option('effect.external.*', target),
  option('effect.external.*.kind', word(kinds), 'the kind of target', { default: 'http' }),
  option(
    'effect.external.*.policy',
    word(repeatPolicies),
    'what may follow a call with an unknown outcome; `keyed`: repeat it, because the target stores the key',
    { default: 'keyed', defaultText: null },
  ),
  option('effect.external.*.query', unchecked(codeOnly('must be a function'))),
  option(
    'effect.external.*.queryDelayMs',
    wait,
    'wait between a call with an unknown outcome and the query',
    {
      default: 30_000,
    },
  ),
  option(
    'effect.external.*.keyLifetimeMs',
    milliseconds(1, Number.MAX_SAFE_INTEGER, { fileMax: 365 * dayMs }),
    'how long the target remembers a key',
    { default: dayMs },
  ),
  option('effect.external.*.timeoutMs', wait, 'timeout of one call', { default: 10_000 }),
  option('effect.external.*.attemptsMax', count, 'calls before an operator must decide', { default: 8 }),
  option('effect.external.*.retryDelayMs', wait, 'delay before the second call', { default: 500 }),
  option('effect.external.*.retryDelayMaxMs', wait, 'longest delay; each delay doubles the one before', {
    default: 60_000,
  }),
  option('effect.external.*.concurrencyMax', count, 'calls in flight from one dispatcher', { default: 16 }),
  option('effect.external.*.ratePerSecondMax', count, 'calls per second from one dispatcher', {
    defaultText: 'no limit',
  }),
  option('effect.external.*.breaker', breaker, '`false`: a failing target is called without pauses'),
  option('effect.external.*.breaker.failuresMax', count, 'failed calls in a row that open the breaker', {
    default: 20,
  }),
  option('effect.external.*.breaker.pauseMs', wait, 'how long an open breaker pauses calls', {
    default: 10_000,
  }),
]

const secrets = record(
  "must name at least one secret: { '2026-01': { env: 'NAME' } }",
  value => isRecord(value) && Object.keys(value).length > 0,
  (id, place, wrong) => {
    if (!/^[A-Za-z0-9_.-]{1,64}$/.test(id))
      wrong(place, 'is not a valid key id: use letters, digits, dot, dash and underscore, at most 64')
  },
)
const keyHeader = textOrNull(
  'must be the name of a header, or null for a target that takes no key',
  isHeaderName,
)

/** `url-problems.ts` checks the complete address. */
const webOptions = [
  option('effect.external.*.url', unchecked(text()), 'address of the target: https, no credentials', web),
  option('effect.external.*.method', word(['POST', 'PUT', 'PATCH']), 'HTTP method of an http target', {
    ...http,
    default: 'POST',
    defaultText: 'POST',
  }),
  option(
    'effect.external.*.headers',
    record('must be an object of header names and values', isRecord),
    null,
    web,
  ),
  option(
    'effect.external.*.headers.*',
    header,
    'a header sent with every call; credentials as `Bearer $\u007benv:NAME}`',
  ),
  option('effect.external.*.keyHeader', keyHeader, 'the header that carries the key', {
    ...http,
    default: 'Idempotency-Key',
    defaultText: '`Idempotency-Key`; `null` for a target that accepts no key',
  }),
  option(
    'effect.external.*.replayedHeader',
    unchecked(text()),
    'the header that marks an answer the target had stored for the key',
    { ...http, default: 'Idempotent-Replayed' },
  ),
  option('effect.external.*.secrets', secrets, null, { onlyFor: ['webhook'], missing: true }),
  option('effect.external.*.secrets.*', secret, 'key id → secret that signs calls of a webhook'),
  option(
    'effect.external.*.allowPrivate',
    unchecked(flag),
    'allows plain http, any port and private addresses',
    {
      onlyFor: ['http', 'webhook', 'email'],
      default: false,
    },
  ),
  option('effect.external.*.ports', ports, 'ports that calls may use', { ...web, default: [443] }),
]

const host = text('must be the name of a mail server', one => one !== '')
const sender = text('must be one address, such as orders@shop.example', one =>
  /^[^\s@<>]+@[^\s@<>]+$/.test(one),
)

const mailOptions = [
  option('effect.external.*.host', host, 'the mail server of an email target', { ...email, missing: true }),
  option('effect.external.*.port', wholeNumber(1, 65_535), 'its port', {
    ...email,
    default: computed(get => (get('effect.external.*.tls') === 'implicit' ? 465 : 587)),
    defaultText: null,
  }),
  option('effect.external.*.tls', word(['implicit', 'starttls', 'none']), 'encryption of an email target', {
    ...email,
    default: 'starttls',
  }),
  option(
    'effect.external.*.credentials',
    section('must be { user, password }', { allowsOtherKeys: true }),
    null,
    email,
  ),
  option('effect.external.*.credentials.user', secret, 'user name at the mail server', { missing: true }),
  option('effect.external.*.credentials.password', secret, 'password at the mail server', { missing: true }),
  option('effect.external.*.from', sender, "the sender's address", { ...email, missing: true }),
  option('effect.external.*.messageIdDomain', unchecked(text()), 'domain of Message-IDs', {
    ...email,
    default: computed(get => get('effect.external.*.from').split('@')[1]!),
    defaultText: "the sender's domain",
  }),
]

const callOptions = [
  option(
    'effect.external.*.call',
    codeOnly('must be a function that makes one call and returns its outcome'),
    null,
    { onlyFor: ['custom'], missing: true },
  ),
]

/** Targets of external calls. Functions (`query`, `call`) stay in TypeScript. */
export const externalOptions = [...traitOptions, ...webOptions, ...mailOptions, ...callOptions]
