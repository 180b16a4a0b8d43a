import { isTransform, type Transform } from '../../contract/define-transform.ts'
import { durationText } from '../../contract/duration.ts'
import type { Consumer } from '../../index.ts'
import { type Behaviour, behaviourOf } from './behaviour.ts'
import { describeFrom, describeGroup, describePublish, describeSource, describeTarget } from './describe.ts'
import { commonAssumptions, notPromised, promiseOf, type SinkPromise, sourceAssumptions } from './promise.ts'
import { objectivesText, orderText, ownerText, saidOf } from './section-texts.ts'
import { transformPage } from './transform-page.ts'

/**
 * The contract of one consumer on one page: answers to review questions, computed by the functions that run.
 */
export interface ContractPage {
  readonly kind: 'consumer' | 'transform'
  readonly name: string
  readonly owner: string
  readonly risk: string
  readonly description: string | null
  /** In the order of the page. */
  readonly sections: readonly { readonly title: string; readonly text: string }[]
  /** Outcomes of messages that are not simply applied, by situation. */
  readonly behaviour: readonly Behaviour[]
  readonly promise: readonly SinkPromise[]
  readonly assumptions: readonly string[]
  readonly notPromised: readonly string[]
}

/** Pure. Of addresses it shows only hosts, and no secrets. */
export function contractPage(consumer: Consumer | Transform): ContractPage {
  return isTransform(consumer) ? transformPage(consumer as Transform) : consumerPage(consumer as Consumer)
}

function consumerPage(consumer: Consumer): ContractPage {
  const { name, owner, risk, description, source, generation } = consumer
  const promise = promiseOf(consumer)
  const input = describeSource(source)
  const behaviour = behaviourOf(consumer)
  return {
    kind: 'consumer',
    name,
    owner,
    risk,
    description: description ?? null,
    sections: [
      { title: 'Name', text: generation === 1 ? name : `${name}, generation ${generation}` },
      { title: 'Input topic', text: `${input.kind} ${input.name}`.trim() },
      { title: 'Group ID', text: describeGroup(source, name, generation) },
      { title: 'Partition key assumption', text: keyText(consumer) },
      { title: 'Delivery target', text: targetText(promise, consumer) },
      { title: 'Side effect', text: effectText(consumer) },
      { title: 'Idempotency key', text: identityText(consumer) },
      { title: 'Commit point', text: commitText(consumer) },
      { title: 'Duplicate behavior', text: duplicateText(consumer, behaviour) },
      { title: 'Out-of-order behavior', text: orderText(consumer, behaviour) },
      { title: 'Poison behavior', text: poisonText(consumer, behaviour) },
      { title: 'Replay behavior', text: replayText(consumer) },
      { title: 'Evidence', text: evidenceText(consumer) },
      { title: 'Retention', text: retentionText(consumer) },
      { title: 'Objectives', text: objectivesText(consumer) },
      { title: 'Owner', text: ownerText(consumer) },
    ],
    behaviour,
    promise,
    assumptions: [...commonAssumptions, ...sourceAssumptions(source)],
    notPromised,
  }
}

function keyText({ order, identity }: Consumer): string {
  const key = identity.orderKey === undefined ? null : describeFrom(identity.orderKey)
  if (order === 'key') return `messages that depend on each other share ${key}; others may overtake`
  if (order === 'partition') return 'messages that depend on each other are in one partition'
  return key === null ? 'none: no message depends on another' : `none kept; ${key} is known`
}

function targetText(promise: readonly SinkPromise[], { settle }: Consumer): string {
  const delivery = settle.when === 'before effect' ? 'at-most-once delivery' : 'at-least-once delivery'
  const sinks = promise.map(({ sink, name, often }) => `${name === null ? sink : `${sink} ${name}`} ${often}`)
  return [delivery, ...sinks].join('; ')
}

function effectText({ effect }: Consumer): string {
  const { apply, external = {}, publish = {} } = effect ?? {}
  const written = apply
    ? `${apply.kind}${apply.tables?.length ? ` into ${apply.tables.join(', ')}` : ''}${apply.details === undefined ? '' : ` (${apply.details})`}`
    : 'the handler’s writes in its transaction'
  return [
    written,
    ...(apply?.after === undefined ? [] : ['then, for each applied message, its own code (after)']),
    ...Object.entries(external).map(
      ([name, target]) => `${name}: ${describeTarget(target)}, ${target.policy ?? 'keyed'}`,
    ),
    ...Object.entries(publish).map(([name, target]) => `${name}: message to ${describePublish(target)}`),
  ].join('; ')
}

function identityText({ identity, dedup, effect, message }: Consumer): string {
  const { id, businessKey, idempotencyKey, aggregateId, aggregateVersion, occurredAt } = identity
  const version =
    aggregateId !== undefined && aggregateVersion !== undefined
      ? `${describeFrom(aggregateId)} + ${describeFrom(aggregateVersion as never)}`
      : null
  return [
    `message id: ${describeFrom(id)}`,
    ...(businessKey === undefined ? [] : [`business key: ${describeFrom(businessKey)}`]),
    ...(version === null ? [] : [`version: ${version}`]),
    ...(message.digestHeaders.length === 0
      ? []
      : [`content: the body and the headers ${message.digestHeaders.join(', ')}`]),
    ...(idempotencyKey === undefined
      ? []
      : [`default key of external effects: ${describeFrom(idempotencyKey)}`]),
    ...(occurredAt === undefined ? [] : [`event time: ${describeFrom(occurredAt as never)}`]),
    ...(dedup === 'version' ? [`key and version of the ${effect?.apply?.kind ?? 'effect'}`] : []),
  ].join('; ')
}

function commitText({ settle, inbox, dedup }: Consumer): string {
  if (settle.when === 'before effect') return `before the effect; accepted because: ${settle.lossAcceptable}`
  if (inbox.mode === 'stored')
    return 'after the transaction that stores the message; workers apply it later, under a lease'
  if (settle.when === 'with effect')
    return `the position is written in the effect's transaction${dedup === 'checkpoint' ? ', and no marker is kept' : ''}`
  return 'after the database transaction commits'
}

function duplicateText({ dedup }: Consumer, behaviour: readonly Behaviour[]): string {
  if (dedup === 'checkpoint')
    return 'redelivered records are before the position and are not read; an event that was sent twice is applied twice'
  if (dedup === 'version')
    return 'a version that the row already has is skipped; the same version with other content is quarantined'
  return saidOf(behaviour, ['again', 'altered', 'keyAgain', 'keyAltered'])
}

function poisonText({ failure, inbox, isolation }: Consumer, behaviour: readonly Behaviour[]): string {
  const { deadLetter, deadLetterOwner, rules } = failure
  const sameMax = failure.exhausted === 'stop' ? null : rules.unclassified.sameMax
  return [
    saidOf(behaviour, ['transient', 'poison', 'invalid', 'undecodable', 'tombstone']),
    ...(sameMax === null ? [] : [`a message that fails ${sameMax} times in the same way is poison`]),
    ...classesText(failure),
    `between attempts a message waits ${waitingPlaces[inbox.mode === 'stored' ? 'defer' : failure.mode]}`,
    ...(isolation.mode === 'child'
      ? ['handlers run in a child process; one that does not end is killed, and counts as a crash']
      : []),
    ...redeliveryText(failure),
    ...pauseText(failure),
    deadLetter === null
      ? 'kept in the store'
      : `messages that are dead-lettered, quarantined or without attempts left are copied to ${deadLetter}`,
    `${deadLetterOwner} is responsible for them`,
    `with ${failure.parking.totalMax} parked, or ${failure.parking.perKeyMax} behind one of a key, later messages wait at the source`,
  ].join('; ')
}

const waitingPlaces: Readonly<Record<Consumer['failure']['mode'], string>> = {
  block: 'in the process, unacknowledged',
  defer: 'in the store',
  'retry queue': 'in a retry queue',
  'retry topic': 'in a retry topic',
}

function classesText({ classes }: Consumer['failure']): readonly string[] {
  const named = Object.entries(classes).map(([code, failureClass]) => `${code} is ${failureClass}`)
  return named.length === 0 ? [] : [`of the errors, ${named.join(', ')}`]
}

function redeliveryText({ redelivery }: Consumer['failure']): readonly string[] {
  if (redelivery === null) return []
  const then = { slowed: 'waits before it is tried', isolated: 'is tried alone', 'set aside': 'is set aside' }
  return [`a message with ${redelivery.countMax} earlier deliveries ${then[redelivery.action]}`]
}

function pauseText({ breaker, brake }: Consumer['failure']): readonly string[] {
  const share = Number(((brake?.shareMin ?? 0) * 100).toFixed(2))
  return [
    ...(breaker === null
      ? []
      : [`${breaker.failuresMax} failures in a row of an unavailable dependency pause the source`]),
    ...(brake === null
      ? []
      : [
          `an event type pauses when ${brake.messagesMin} of its messages, and ${share} % of the recent ones, fail for one new cause`,
        ]),
  ]
}

function replayText({ replay, effect }: Consumer): string {
  const { modes, windowMs, effects, compare, tables = [] } = replay
  if (modes.length === 0) return 'not allowed'
  const outside = Object.keys({ ...effect?.external, ...effect?.publish }).length > 0
  const suppressed =
    effects === 'never' ? 'always suppressed' : 'suppressed unless a second person approved them'
  const changes = Object.entries(compare).flatMap(([table, { mayChange = [] }]) =>
    mayChange.map(column => `${table}.${column}`),
  )
  return [
    `allowed: ${modes.join(', ')}`,
    `back to ${windowMs === null ? 'the oldest record of the source' : durationText(windowMs)}`,
    ...(outside ? [`external effects and messages are ${suppressed}`] : []),
    ...(tables.length > 0 ? [`a rebuild makes ${tables.join(', ')} anew`] : []),
    ...(changes.length > 0 ? [`a rebuild may change ${changes.join(', ')}`] : []),
  ].join('; ')
}

function retentionText({ retention, dedup }: Consumer): string {
  if (retention === null) return 'nothing is removed'
  const old = retention.behindHorizon === 'park' ? 'parked' : 'applied and reported'
  const tenants = Object.entries(retention.tenants ?? {}).map(([name, ms]) => `, ${name} ${durationText(ms)}`)
  const markers = dedup === 'marker' ? `markers ${durationText(retention.markers)}${tenants.join('')}; ` : ''
  const gone =
    retention.action === 'archive'
      ? 'archived'
      : retention.partitions === 'daily'
        ? 'dropped by days'
        : 'deleted'
  return `${markers}then ${gone}; older messages that are redelivered are ${old}`
}

function evidenceText({ evidence, retention }: Consumer): string {
  if (!evidence.receipts) return 'markers only: type, version and correlation of a message are not kept'
  const kept = evidence.keep === 'payload' ? 'with its facts and bytes' : 'with its facts'
  const term = retention === null ? 'never removed' : `kept ${durationText(retention.receipts)}`
  return `a receipt for each message, ${kept}; ${term}`
}
