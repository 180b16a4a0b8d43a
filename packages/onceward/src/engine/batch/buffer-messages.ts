import type { EncodedMessage, PublishRequest, PublishTarget } from '../../contract/publish-target.ts'
import { OncewardError } from '../../errors.ts'
import { bytesDigest } from '../../message/digest.ts'
import { exactJson } from '../../message/exact-json.ts'
import { readId } from '../../message/identity.ts'
import type { ReadableMessage, Received } from '../../message/received.ts'
import { stableId } from '../../message/stable-id.ts'
import { toStoredJson } from '../../message/stored-json.ts'
import type { SuppressedEffect } from '../../ports/campaign-session.ts'
import type { Outgoing } from '../../ports/outgoing.ts'
import type { StoreSession } from '../../ports/store-session.ts'
import type { TopicLimits } from '../../ports/topic-limits.ts'
import {
  amqpHeaderBytes,
  amqpHeaderBytesMax,
  kafkaBatchBytesMax,
  kafkaRecordBytes,
} from '../../ports/wire-size.ts'
import type { ConsumerContext } from '../consumer-context.ts'
import { classifyFailure } from '../retry/classify-failure.ts'
import type { Deadline } from './handler-deadline.ts'
import { RoundFailed } from './handler-result.ts'
import { noteSuppressed } from './held-origin.ts'
import { type Fact, isApplied } from './outcome.ts'
import { lostLeases } from './stored-mode.ts'

/** The messages that handlers of this round publish, in order. An encoder may still be at work. */
export type RequestedMessages<M> = {
  readonly received: ReadableMessage<M>
  readonly outgoing: Outgoing | Promise<Outgoing>
}[]

/** Builds the messages of one handler call. */
export function outgoingMaker<M, Tx>(
  received: ReadableMessage<M>,
  { consumer, env, enrolment, suppresses }: ConsumerContext<M, Tx>,
) {
  const { destinations, topicLimits } = enrolment.facts
  const calls = new Map<string, number>()
  return (name: string, request: PublishRequest): Outgoing | Promise<Outgoing> => {
    const targets = consumer.effect?.publish ?? {}
    const target = Object.hasOwn(targets, name) ? targets[name]! : null
    if (target === null) throw unknownTarget(name, Object.keys(targets))
    const call = calls.get(name) ?? 0
    calls.set(name, call + 1)
    const correlationId = request.correlationId ?? received.envelope.correlationId ?? undefined
    const id = request.id ?? stableId(consumer.name, received.id, name, call)
    const trace = env.traces.outgoing(received.delivery.headers, name)
    const headers = trace === null ? request.headers : { ...trace, ...request.headers }
    const made = { ...request, id, correlationId, ...(headers && { headers }) }
    const connected = target.destination === undefined || target.destination === destinations?.kafka
    const limits = connected ? topicLimits : undefined
    const place = `effects.publish("${name}")`
    const finish = (ready: Identified) => {
      const outgoing = outgoingOf(target, ready, place, limits)
      return target.evidence === true ? { ...outgoing, cause: received.id } : outgoing
    }
    // What is not sent needs no schema, and must not register one.
    const encoded = suppresses ? made : encode(target, made)
    if (!(encoded instanceof Promise)) return finish(encoded)
    const outgoing = encoded.then(finish)
    // The handler may fail before the message is due.
    outgoing.catch(() => {})
    return outgoing
  }
}

/** The request with the bytes of its target's encoder, if it has one. */
export function encode<R extends Identified>(target: PublishTarget, request: R): R | Promise<R> {
  if (target.encoder === undefined) return request
  const { id, type, key = null, body } = request
  const topic = placeName(target)
  const encoded = target.encoder.encode(body, { broker: target.broker, topic, id, type, key })
  const finish = ({ body, contentType, headers }: EncodedMessage, own = request.headers): R => ({
    ...request,
    body,
    contentType: request.contentType ?? contentType,
    headers: { ...headers, ...own },
  })
  if (!(encoded instanceof Promise)) return finish(encoded)
  const own = { ...request.headers }
  return encoded.then(message => finish(message, own))
}

function placeName(target: PublishTarget): string {
  return 'topic' in target ? target.topic : 'queue' in target ? target.queue : target.routingKey
}

type Identified = Omit<PublishRequest, 'id' | 'correlationId' | 'contentType'> & {
  readonly id: string
  readonly correlationId?: string | undefined
  readonly contentType?: string | undefined
}

/** Throws a TypeError that names the field if the message cannot be published. */
export function outgoingOf(
  target: PublishTarget,
  request: Identified,
  place: string,
  limits?: TopicLimits,
): Outgoing {
  const { body, key = null, type, correlationId, headers = {} } = request
  const id = readId(request.id)
  if ('problem' in id) throw new TypeError(`${place}: ${id.text}`)
  if (key !== null && (typeof key !== 'string' || key.includes('\0') || !key.isWellFormed()))
    throw new TypeError(`${place}: key must be well-formed text without NUL, or null`)
  const raw = body instanceof Uint8Array
  const bytes: Uint8Array | string | undefined = raw ? body : exactJson(body)
  if (bytes === undefined) throw new TypeError(`${place}: a body of ${typeof body} cannot be written as JSON`)
  const contentType = request.contentType ?? (raw ? 'application/octet-stream' : 'application/json')
  const exchange = 'exchange' in target ? target.exchange : null
  const queue = placeName(target)
  const outgoing = {
    broker: target.broker,
    ...(target.destination !== undefined && { destination: target.destination }),
    exchange,
    queue,
    messageId: id.id,
    key,
    headers: toStoredJson(headers),
    properties: toStoredJson({ contentType, ...(type && { type }), ...(correlationId && { correlationId }) }),
    body: Buffer.from(bytes as Uint8Array),
  }
  if (target.broker === 'rabbitmq') assertHeadersFit(outgoing, place)
  if (target.broker === 'kafka') assertRecordFits(outgoing, target.bytesMax, place, limits)
  return outgoing
}

/**
 * A record that its topic refuses would stay in the outbox and block its key. The cluster's limit counts; a
 * declared limit can only lower it. If the cluster was not asked, the declared limit counts.
 */
function assertRecordFits(
  outgoing: Outgoing,
  declared: number | undefined,
  place: string,
  limits?: TopicLimits,
): void {
  const bytes = kafkaRecordBytes(outgoing)
  const learned = limits?.bytesMax(outgoing.queue) ?? null
  const bytesMax =
    learned === null ? (declared ?? kafkaBatchBytesMax) : Math.min(learned, declared ?? learned)
  if (bytes <= bytesMax) return
  limits?.doubt()
  const raise =
    bytesMax === learned
      ? 'or raise max.message.bytes of the topic'
      : 'or, if max.message.bytes of the topic is higher, set bytesMax of the target'
  throw new TypeError(
    `${place}: the record takes ${bytes} bytes with its key and headers, and topic ${outgoing.queue} accepts ${bytesMax}. Store the large part elsewhere and publish a reference; ${raise}. Nothing was written.`,
  )
}

/** The size of an AMQP header frame does not depend on the broker's configuration. */
function assertHeadersFit(outgoing: Outgoing, place: string): void {
  const bytes = amqpHeaderBytes(outgoing)
  if (bytes <= amqpHeaderBytesMax) return
  const found = Number.isFinite(bytes)
    ? `take ${bytes} bytes`
    : 'are nested too deeply, or a name is too long'
  throw new TypeError(
    `${place}: the headers ${found}, and AMQP carries ${amqpHeaderBytesMax} bytes with names of up to 255. Move large values into the body. Nothing was written.`,
  )
}

/** Writes all messages of the round in one statement. */
export async function flushMessages<M, Tx>(
  requested: RequestedMessages<M>,
  facts: ReadonlyMap<Received<M>, Fact>,
  session: StoreSession<Tx>,
  context: ConsumerContext<M, Tx>,
  deadline: Deadline,
): Promise<void> {
  const { suppresses, consumer, env } = context
  const applied = requested.filter(({ received }) => isApplied(facts.get(received)))
  if (applied.length === 0) return
  const due = await encodedMessages(applied, context, deadline)
  if (suppresses) {
    await noteSuppressed(
      due.map(({ received, outgoing }) => wouldPublish(received.id, outgoing)),
      session,
      context,
    )
    return env.metrics.add('publishSuppressed', due.length, { consumer: consumer.name })
  }
  await session.outgoing!.publish(due.map(({ outgoing }) => outgoing))
}

/** A message that could not be encoded, or not in time, fails, and the batch runs again without it. */
async function encodedMessages<M, Tx>(
  requested: RequestedMessages<M>,
  context: ConsumerContext<M, Tx>,
  deadline: Deadline,
): Promise<readonly { readonly received: ReadableMessage<M>; readonly outgoing: Outgoing }[]> {
  const culprits = new Map<Received<M>, Fact>()
  const made: { readonly received: ReadableMessage<M>; readonly outgoing: Outgoing }[] = []
  for (const { received, outgoing } of requested)
    try {
      made.push({
        received,
        outgoing: outgoing instanceof Promise ? await deadline.within(outgoing) : outgoing,
      })
    } catch (error) {
      if (context.signal.aborted || lostLeases(error) !== null) throw error
      culprits.set(received, {
        kind: 'failed',
        failure: classifyFailure(error, context.consumer.failure.classes),
      })
    }
  if (culprits.size > 0) throw new RoundFailed(culprits)
  return made
}

function wouldPublish(
  messageId: string,
  { broker, exchange, queue, messageId: key, body }: Outgoing,
): SuppressedEffect {
  const target = [broker, ...(exchange === null ? [] : [exchange]), queue].join('/')
  return { kind: 'publish', messageId, target, key, digest: bytesDigest(body) }
}

function unknownTarget(name: string, known: readonly string[]): OncewardError {
  return new OncewardError(
    'effect_unknown_target',
    `The handler publishes to "${name}", but the contract declares ${known.join(', ') || 'none'}. Add effect.publish.${name} to the contract. Nothing was committed.`,
  )
}
