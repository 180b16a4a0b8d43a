import type { Effects, ExternalRequest, InlineAnswer } from '../../contract/handler.ts'
import { OncewardError } from '../../errors.ts'
import { bytesDigest } from '../../message/digest.ts'
import { exactJson } from '../../message/exact-json.ts'
import { readId } from '../../message/identity.ts'
import type { ReadableMessage, Received } from '../../message/received.ts'
import type { EvidenceNote } from '../../ports/evidence.ts'
import type { Intent } from '../../ports/outgoing.ts'
import type { StoreSession } from '../../ports/store-session.ts'
import type { ConsumerContext } from '../consumer-context.ts'
import { classifyFailure } from '../retry/classify-failure.ts'
import { evidenceNote, noEvidence } from './buffer-evidence.ts'
import { outgoingMaker, type RequestedMessages } from './buffer-messages.ts'
import { RoundFailed } from './handler-result.ts'
import { noteSuppressed } from './held-origin.ts'
import { type Fact, isApplied } from './outcome.ts'

/** The effects that handlers of this round requested, in order. */
export interface Requested<M> {
  readonly intents: RequestedIntent<M>[]
  readonly messages: RequestedMessages<M>
  /** Calls that were suppressed because of the mode. */
  readonly calls: RequestedIntent<M>[]
  readonly evidence: { readonly received: ReadableMessage<M>; readonly note: EvidenceNote }[]
}

interface RequestedIntent<M> {
  readonly received: ReadableMessage<M>
  readonly intent: Intent
}

/** One call to a target inside a handler. Throws errors for the failure policy. */
export type InlineCall = (intent: Intent, signal: AbortSignal) => Promise<InlineAnswer>

/**
 * The `effects` of one handler call. They close when the call ends. `cut`: why it ended before the handler.
 */
export interface ClosableEffects extends Effects {
  close(cut?: Error): void
}

/** Collects the effects a handler requests, until the whole batch is written at once. */
export function bufferEffects<M, Tx>(
  received: ReadableMessage<M>,
  requested: Requested<M>,
  session: StoreSession<Tx>,
  context: ConsumerContext<M, Tx>,
): ClosableEffects {
  let open = true
  let ended: Error | undefined
  let makeOutgoing: ReturnType<typeof outgoingMaker> | null = null
  return {
    close(cut) {
      if (open) ended = cut
      open = false
    },
    external(target, request) {
      if (!open) throw lateEffect(target, context, ended)
      if (context.consumer.effect?.external?.[target] === undefined) throw unknownTarget(target, context)
      requested.intents.push({ received, intent: intentOf(received, target, request, context) })
    },
    publish(target, request) {
      if (!open) throw lateEffect(target, context, ended)
      makeOutgoing ??= outgoingMaker(received, context)
      requested.messages.push({ received, outgoing: makeOutgoing(target, request) })
    },
    async call(target, request) {
      if (!open) throw lateEffect(target, context, ended)
      if (context.consumer.effect?.external?.[target] === undefined) throw unknownTarget(target, context)
      const intent = intentOf(received, target, request, context)
      if (context.suppresses) {
        requested.calls.push({ received, intent })
        context.env.metrics.add('suppressed', 1, { consumer: context.consumer.name, reason: 'mode' })
        return null
      }
      if (context.callInline === undefined) throw noInlineCalls(target)
      return context.callInline(intent, context.signal)
    },
    evidence(name, detail) {
      if (!open) throw lateEffect(`evidence ${name}`, context, ended)
      if (session.evidence === undefined) throw noEvidence(context)
      requested.evidence.push({ received, note: evidenceNote(received.id, name, detail) })
    },
    async alreadyProcessed(messageId, consumer = context.consumer.name) {
      if (!open) throw lateEffect(`marker of ${messageId}`, context, ended)
      if (session.evidence === undefined) throw noEvidence(context)
      return session.evidence.isApplied(messageId, consumer)
    },
  }
}

function lateEffect<M, Tx>(
  target: string,
  { env, consumer }: ConsumerContext<M, Tx>,
  cut: Error | undefined,
): OncewardError {
  const fields = { consumer: consumer.name, target }
  if (cut === undefined) env.log.error('effect requested after the handler returned; not recorded', fields)
  else
    env.log.warn('effect not recorded: the handler was aborted before it returned', {
      ...fields,
      reason: cut.message,
    })
  return new OncewardError(
    'effect_closed',
    cut === undefined
      ? `A handler requested target "${target}" after it had returned. The effect was not recorded. Await everything before returning.`
      : `A handler requested target "${target}" after it was aborted: ${cut.message} The effect was not recorded.`,
    { cause: cut },
  )
}

function unknownTarget<M, Tx>(target: string, { consumer }: ConsumerContext<M, Tx>): OncewardError {
  const known = Object.keys(consumer.effect?.external ?? {}).join(', ') || 'none'
  return new OncewardError(
    'effect_unknown_target',
    `The handler requested external target "${target}", but the contract declares ${known}. Add effect.external.${target} to the contract. Nothing was committed.`,
  )
}

function noInlineCalls(target: string): OncewardError {
  return new OncewardError(
    'configuration',
    `The handler calls external target "${target}" inline, but this process cannot make calls. Start it with runConsumer, or pass callInline. Nothing was committed.`,
  )
}

function intentOf<M, Tx>(
  { id, businessKey, envelope }: ReadableMessage<M>,
  target: string,
  request: ExternalRequest,
  { consumer }: ConsumerContext<M, Tx>,
): Intent {
  const key = readId(request.key ?? envelope.idempotencyKey ?? undefined)
  if ('problem' in key) throw new TypeError(`effects.external("${target}"): ${key.text.replace('id', 'key')}`)
  const raw = request.body instanceof Uint8Array
  const body = raw ? Buffer.from(request.body as Uint8Array) : Buffer.from(exactJson(request.body) ?? 'null')
  const contentType = request.contentType ?? (raw ? 'application/octet-stream' : 'application/json')
  const effectType = consumer.effect!.external![target]!.kind ?? 'http'
  return {
    messageId: id,
    businessKey,
    effectType,
    target,
    key: key.id,
    body,
    contentType,
    digest: bytesDigest(body),
  }
}

/**
 * Writes all intents of the round in one statement. A key already used for other bytes names its message as
 * culprit.
 */
export async function flushEffects<M, Tx>(
  { intents }: Requested<M>,
  facts: ReadonlyMap<Received<M>, Fact>,
  session: StoreSession<Tx>,
  context: ConsumerContext<M, Tx>,
): Promise<void> {
  const due = intents.filter(({ received }) => isApplied(facts.get(received)))
  const { metrics } = context.env
  const consumer = context.consumer.name
  if (context.suppresses) {
    await noteSuppressed(
      due.map(({ intent }) => ({ kind: 'external', ...intent })),
      session,
      context,
    )
    return metrics.add('suppressed', due.length, { consumer, reason: 'mode' })
  }
  const first = new Map<string, RequestedIntent<M>>()
  const repeats: { readonly request: RequestedIntent<M>; readonly first: RequestedIntent<M> }[] = []
  for (const request of due) {
    const key = `${request.intent.target}\0${request.intent.key}`
    const earlier = first.get(key)
    if (earlier === undefined) first.set(key, request)
    else repeats.push({ request, first: earlier })
  }
  const unique = [...first.values()]
  const answers =
    unique.length === 0 ? [] : await session.outgoing!.request(unique.map(({ intent }) => intent))
  const culprits = new Map<Received, Fact>()
  let suppressed = 0
  answers.forEach((answer, index) => {
    if (answer === 'suppressed duplicate') suppressed++
    if (answer === 'conflict')
      culprits.set(unique[index]!.received, conflictFact(unique[index]!.intent, context))
  })
  for (const { request, first } of repeats) {
    if (first.intent.digest.equals(request.intent.digest)) suppressed++
    // The first one is refused in this round. The next round, without it, decides about the repeat.
    else if (!culprits.has(first.received))
      culprits.set(request.received, conflictFact(request.intent, context))
  }
  if (culprits.size > 0) throw new RoundFailed(culprits)
  if (suppressed > 0) metrics.add('suppressed', suppressed, { consumer, reason: 'duplicate' })
}

function conflictFact<M, Tx>(intent: Intent, context: ConsumerContext<M, Tx>): Fact {
  const error = new OncewardError(
    'effect_conflict',
    `External effect ${intent.target}/${intent.key} was already requested with other bytes.`,
  )
  return { kind: 'failed', failure: classifyFailure(error, context.consumer.failure.classes) }
}
