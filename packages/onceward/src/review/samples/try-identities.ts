import { inspect } from 'node:util'
import type { Consumer } from '../../contract/define-consumer.ts'
import { attempt, compileIdentities, type Identities } from '../../message/read-identities.ts'
import { createMessageReader } from '../../message/read-message.ts'
import type { Delivery } from '../../ports/source.ts'
import { capturedChange } from './captured-change.ts'
import { blank, jsonBytes, type Sample } from './sample.ts'

/** A clock that stands still, and a random source that repeats one number. */
export interface FixedEnvironment {
  readonly nowMs: number
  /** In [0, 1). */
  readonly random: number
}

/** Runs work with this clock and this random source in place of the real ones, and restores them. */
export type InEnvironment = <T>(environment: FixedEnvironment, work: () => T | Promise<T>) => Promise<T>

/** How identities are tried. */
export interface IdentityTrial {
  /** Without any, identities are tried on an empty message. */
  readonly samples: readonly Sample[]
  readonly inEnvironment: InEnvironment
}

/** Identities that recognise a message, an operation or an entity. */
export const triedNames = [
  'id',
  'businessKey',
  'businessDigest',
  'orderKey',
  'eventId',
  'idempotencyKey',
  'aggregateId',
  'aggregateVersion',
] as const

export type TriedName = (typeof triedNames)[number]

/** What an identity depends on besides the message. */
export type Dependence = 'call' | 'clock' | 'random' | 'delivery'

/** The identities that a contract reads from one sample. */
export interface TriedSample {
  /** Null: tried on an empty message, because no samples were given. */
  readonly line: number | null
  /** Why the sample is unreadable; null if it is readable. */
  readonly problem: string | null
  readonly values: Readonly<Partial<Record<TriedName, string>>>
  readonly depends: readonly { readonly name: TriedName; readonly on: Dependence }[]
  readonly digest: string
  /** A field of the message that looks like a version, beside `identity.aggregateVersion`. */
  readonly versionField: string | null
  /** For a captured change: whether its id changes with the commit. Null for any other message. */
  readonly capture: 'no commit metadata' | 'same id' | 'own id' | null
}

type Values = TriedSample['values']

const usual: FixedEnvironment = { nowMs: Date.UTC(2024, 1, 29, 12), random: 0.25 }
const otherClock: FixedEnvironment = { ...usual, nowMs: Date.UTC(2031, 6, 8, 21, 3, 17, 431) }
const otherRandom: FixedEnvironment = { ...usual, random: 0.75 }

/**
 * Reads the identities of each sample several times, each time with one thing changed besides the message.
 */
export async function tryIdentities(
  consumer: Consumer,
  { samples, inEnvironment }: IdentityTrial,
): Promise<readonly TriedSample[]> {
  const identities = compileIdentities(consumer.identity)
  const read = createMessageReader(consumer)
  const tried: TriedSample[] = []
  for (const sample of samples) tried.push(await tryOne(identities, sample, decoderOf(read), inEnvironment))
  if (samples.length > 0) return tried
  const empty: Sample = { line: 0, body: {}, delivery: blank }
  return [
    { ...(await tryOne(identities, empty, () => ({ message: {}, digest: '' }), inEnvironment)), line: null },
  ]
}

type Decoded = { readonly message: unknown; readonly digest: string } | { readonly problem: string }
type Decode = (delivery: Delivery) => Decoded | Promise<Decoded>

const decoderOf =
  (read: ReturnType<typeof createMessageReader>): Decode =>
  async delivery => {
    const received = await read(delivery)
    if (!received.readable) return { problem: received.problem.text }
    return { message: received.message, digest: received.digest.toString('hex') }
  }

async function tryOne(
  identities: Identities<unknown>,
  { line, body, delivery }: Sample,
  decode: Decode,
  inEnvironment: InEnvironment,
): Promise<TriedSample> {
  const valuesIn = (environment: FixedEnvironment, given: Delivery = delivery) =>
    inEnvironment(environment, async () => {
      const decoded = await decode(given)
      return 'problem' in decoded
        ? decoded
        : { ...decoded, values: valuesOf(identities, decoded.message, given) }
    })
  const first = await valuesIn(usual)
  const none = { line, values: {}, depends: [], digest: '', versionField: null, capture: null }
  if ('problem' in first) return { ...none, problem: first.problem }
  const tries: readonly [Dependence, Awaited<ReturnType<typeof valuesIn>>][] = [
    ['call', await valuesIn(usual)],
    ['clock', await valuesIn(otherClock)],
    ['random', await valuesIn(otherRandom)],
    ['delivery', await valuesIn(usual, redelivered(delivery))],
  ]
  const depends = triedNames.flatMap(name => {
    const differs = tries.find(([, next]) => !('problem' in next) && next.values[name] !== first.values[name])
    return differs === undefined ? [] : [{ name, on: differs[0] }]
  })
  const idAt = async (later: unknown) => {
    const next = await valuesIn(usual, { ...delivery, body: jsonBytes(later) })
    return 'problem' in next ? null : (next.values.id ?? null)
  }
  return {
    line,
    problem: null,
    values: first.values,
    depends,
    digest: first.digest,
    versionField: versionFieldOf(first.message),
    capture: await captureOf(body, first.values, idAt),
  }
}

function valuesOf(identities: Identities<unknown>, message: unknown, delivery: Delivery): Values {
  const read = (name: TriedName) => attempt(identities[name] ?? (() => undefined), message, delivery)
  const found = triedNames.map(name => [name, read(name)] as const).filter(([, value]) => value != null)
  return Object.fromEntries(found.map(([name, value]) => [name, textOf(value)]))
}

const textOf = (value: unknown) => (typeof value === 'string' ? value : inspect(value, { depth: 8 }))

/** The same message, delivered again later, as brokers mark it. */
function redelivered(delivery: Delivery): Delivery {
  const headers = { ...delivery.headers, 'x-delivery-count': 3, 'x-request-id': 'another', date: 'another' }
  const timestampMs = (delivery.properties.timestampMs ?? 0) + 3_600_000
  return { ...delivery, headers, properties: { ...delivery.properties, timestampMs }, redelivered: true }
}

const versionLike = /^(version|sequence|revision|\w+(Version|Sequence|Revision))$/
const otherVersions = /^(schema|event|api|message|template|spec)Version$/

function versionFieldOf(message: unknown): string | null {
  if (typeof message !== 'object' || message === null) return null
  return Object.keys(message).find(name => versionLike.test(name) && !otherVersions.test(name)) ?? null
}

async function captureOf(
  body: unknown,
  { id }: Values,
  idAt: (later: unknown) => Promise<string | null>,
): Promise<TriedSample['capture']> {
  const change = capturedChange(body)
  if (change === null || id === undefined) return null
  if (change.later === null) return 'no commit metadata'
  return (await idAt(change.later)) === id ? 'same id' : 'own id'
}
