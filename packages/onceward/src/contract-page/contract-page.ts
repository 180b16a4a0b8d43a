import { durationText } from '../contract/duration.ts'
import type { Consumer } from '../index.ts'
import { describeFrom, describeGroup, describePublish, describeSource, describeTarget } from './describe.ts'
import { commonAssumptions, notPromised, promiseOf, type SinkPromise, sourceAssumptions } from './promise.ts'

/** The contract of one consumer, on one page: what reviewers ask, answered from what runs. */
export interface ContractPage {
  readonly name: string
  readonly owner: string
  readonly risk: string
  readonly description: string | null
  /** In the order of the page. */
  readonly sections: readonly { readonly title: string; readonly text: string }[]
  readonly promise: readonly SinkPromise[]
  readonly assumptions: readonly string[]
  readonly notPromised: readonly string[]
}

/** Pure; of addresses it says hosts, of secrets nothing. */
export function contractPage(consumer: Consumer): ContractPage {
  const { name, owner, risk, description, source, generation } = consumer
  const promise = promiseOf(consumer)
  const input = describeSource(source)
  return {
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
      { title: 'Duplicate behavior', text: duplicateText(consumer) },
      { title: 'Out-of-order behavior', text: orderText(consumer) },
      { title: 'Poison behavior', text: poisonText(consumer) },
      { title: 'Replay behavior', text: replayText(consumer) },
      { title: 'Retention', text: retentionText(consumer) },
      { title: 'Objectives', text: objectivesText(consumer) },
      { title: 'Owner', text: ownerText(consumer) },
    ],
    promise,
    assumptions: [...commonAssumptions, ...sourceAssumptions(source)],
    notPromised,
  }
}

function keyText({ order, identity }: Consumer): string {
  const key = identity.orderKey === undefined ? null : describeFrom(identity.orderKey)
  if (order === 'key') return `messages that depend on each other share ${key}; others may pass`
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
    ? `${apply.kind}${apply.tables?.length ? ` into ${apply.tables.join(', ')}` : ''}`
    : 'what the handler writes in its transaction'
  return [
    written,
    ...Object.entries(external).map(
      ([name, target]) => `${name}: ${describeTarget(target)}, ${target.policy ?? 'keyed'}`,
    ),
    ...Object.entries(publish).map(([name, target]) => `${name}: message to ${describePublish(target)}`),
  ].join('; ')
}

function identityText({ identity, dedup, effect }: Consumer): string {
  const { id, businessKey, aggregateId, aggregateVersion } = identity
  const version =
    aggregateId !== undefined && aggregateVersion !== undefined
      ? `${describeFrom(aggregateId)} + ${describeFrom(aggregateVersion as never)}`
      : null
  return [
    `message id: ${describeFrom(id)}`,
    ...(businessKey === undefined ? [] : [`business key: ${describeFrom(businessKey)}`]),
    ...(version === null ? [] : [`version: ${version}`]),
    ...(dedup === 'version' ? [`key and version of the ${effect?.apply?.kind ?? 'effect'}`] : []),
  ].join('; ')
}

function commitText({ settle, inbox, dedup }: Consumer): string {
  if (settle.when === 'before effect') return `before the effect; accepted because: ${settle.lossAcceptable}`
  if (inbox.mode === 'stored')
    return 'after the transaction that stores the message; workers apply it later, under a lease'
  if (settle.when === 'with effect')
    return `the position is written in the effect's transaction${dedup === 'checkpoint' ? ', and is all that is remembered' : ''}`
  return 'after the database transaction commits'
}

function duplicateText({ dedup, identity }: Consumer): string {
  if (dedup === 'checkpoint')
    return 'redelivered records lie before the position and are not read; what was sent twice is applied twice'
  const other =
    identity.businessKey === undefined
      ? 'the same id with other content is quarantined'
      : 'the same id or business key with other content is quarantined'
  return dedup === 'version'
    ? 'a version that is there already is skipped; the same version with other content is quarantined'
    : `the marker prevents a second effect; ${other}`
}

function orderText({ order, effect, failure }: Consumer): string {
  const guard =
    effect?.apply?.remembers === true ? 'a version guard ignores older facts and notes gaps; ' : ''
  if (order === 'none')
    return `${guard}${guard === '' ? 'not kept: the effect must not depend on order' : 'arrival is in any order'}`
  const lane = order === 'key' ? 'key' : 'partition'
  return `${guard}applied in order of arrival per ${lane}; behind one that fails the ${lane} ${failure.mode === 'defer' || failure.exhausted === 'stop' || order === 'key' ? 'waits' : 'goes on'}`
}

function poisonText({ failure, message, source }: Consumer): string {
  const { attemptsMax, exhausted, deadLetter, deadLetterOwner, rejected, sameMax } = failure
  const end = exhausted === 'stop' ? 'its lane stops before it' : 'parked with everything needed to come back'
  return [
    `${attemptsMax} attempts, then ${end}`,
    ...(sameMax === null ? [] : [`parked after failing ${sameMax} times in the same way`]),
    `invalid ones are ${rejected}, unreadable ones ${failure.unreadable}`,
    ...(source.kind === 'kafka'
      ? [`tombstones are ${message.tombstones === 'handle' ? 'handled' : failure.unreadable}`]
      : []),
    deadLetter === null ? 'kept in the store' : `with a copy to ${deadLetter}`,
    `${deadLetterOwner} answers for them`,
  ].join('; ')
}

function replayText({ replay, effect }: Consumer): string {
  const { modes, windowMs, effects } = replay
  if (modes.length === 0) return 'not allowed'
  const outside = Object.keys({ ...effect?.external, ...effect?.publish }).length > 0
  const suppressed =
    effects === 'never' ? 'always suppressed' : 'suppressed unless a second person approved them'
  return [
    `allowed: ${modes.join(', ')}`,
    `back to ${windowMs === null ? 'whatever the source still has' : durationText(windowMs)}`,
    ...(outside ? [`external effects and messages are ${suppressed}`] : []),
  ].join('; ')
}

function retentionText({ retention, dedup }: Consumer): string {
  if (retention === null) return 'nothing is ever removed'
  const old = retention.behindHorizon === 'park' ? 'parked' : 'applied and reported'
  const markers = dedup === 'marker' ? `markers ${durationText(retention.markers)}; ` : ''
  const gone =
    retention.action === 'archive'
      ? 'archived'
      : retention.partitions === 'daily'
        ? 'dropped by days'
        : 'deleted'
  return `${markers}then ${gone}; older messages that come again are ${old}`
}

function objectivesText({ objectives }: Consumer): string {
  const { lagMaxMs, applyP99MaxMs, duplicateShareMax, deadLettersPerHourMax } = objectives
  return [
    `nothing waits longer than ${durationText(lagMaxMs)}`,
    `99 of 100 batches within ${durationText(applyP99MaxMs)}`,
    `at most ${deadLettersPerHourMax} set aside an hour`,
    `at most ${Number((duplicateShareMax * 100).toFixed(2))} % repeats`,
  ].join('; ')
}

function ownerText({ owner, producer, failure }: Consumer): string {
  return [
    owner,
    ...(failure.deadLetterOwner === owner ? [] : [`dead letters: ${failure.deadLetterOwner}`]),
    ...(producer === undefined ? [] : [`producer: ${producer}`]),
  ].join('; ')
}
