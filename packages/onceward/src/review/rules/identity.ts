import type { From } from '../../contract/contract.ts'
import type { Consumer } from '../../contract/define-consumer.ts'
import { isGrave } from '../../contract/failure-rules.ts'
import type { Rule } from '../rule.ts'

/** Headers that brokers and libraries rewrite, so that they differ between deliveries. */
const changing =
  /^(x-delivery-count|x-acquired-count|x-death|x-first-death-.*|x-last-death-.*|x-opt-.*|onceward-retry|traceparent|tracestate|b3|x-b3-.*|x-request-id|date)$/i

const headerOf = (from: unknown) => (from as { header?: string } | null)?.header
const propertyOf = (from: unknown) => (from as { property?: string } | null)?.property

/** A declared effect that recognises an operation independently of its message id. */
const recognises = ({ effect }: Consumer) => effect?.apply !== undefined && effect.apply.kind !== 'audit'

const sameFrom = (one: From<unknown>, other: From<unknown> | undefined) =>
  (headerOf(one) !== undefined && headerOf(one) === headerOf(other)) ||
  (propertyOf(one) !== undefined && propertyOf(one) === propertyOf(other)) ||
  one === other

export const identityRules: readonly Rule<Consumer>[] = [
  {
    id: 'OW101',
    severity: 'error',
    title: 'A log position is not the identity of money',
    reason:
      'An event that a producer writes twice has two positions and is applied twice; so is a copy of the topic.',
    fix: 'Set identity.id to the producer’s id, or identity.businessKey to the operation.',
    judge: ({ identity, risk }) =>
      identity.id === 'position' && identity.businessKey === undefined && isGrave(risk)
        ? `identity.id is 'position' with risk '${risk}' and no identity.businessKey`
        : null,
  },
  {
    id: 'OW102',
    severity: 'note',
    title: 'A log position identifies a record, not an event',
    reason: 'The same event written twice is two messages. For telemetry that may be acceptable.',
    fix: 'Set identity.id to an id of the event where there is one.',
    judge: ({ identity, risk }) =>
      identity.id === 'position' && !isGrave(risk) ? `identity.id is 'position'` : null,
  },
  {
    id: 'OW114',
    severity: 'error',
    title: 'Content is not the identity of money',
    reason:
      'Two payments of the same content count as one and the second is dropped; a repeat with one changed byte is applied.',
    fix: 'Set identity.id to the producer’s id, or identity.businessKey to the operation.',
    judge: ({ identity, risk }) =>
      identity.id === 'content' && identity.businessKey === undefined && isGrave(risk)
        ? `identity.id is 'content' with risk '${risk}' and no identity.businessKey`
        : null,
  },
  {
    id: 'OW115',
    severity: 'note',
    title: 'Content identifies bytes, not an event',
    reason: 'Two events with the same bytes are one message, and only the first is applied.',
    fix: 'Set identity.id to an id of the event where there is one.',
    judge: ({ identity, risk }) =>
      identity.id === 'content' && !isGrave(risk) ? `identity.id is 'content'` : null,
  },
  {
    id: 'OW103',
    severity: 'error',
    title: 'Identities are read from stable values',
    reason: 'Such a value changes with every delivery, so every redelivery would count as a new message.',
    fix: 'Read the identity from a field, header or property that the producer sets.',
    judge: ({ identity }) => {
      const keys = ['id', 'businessKey', 'idempotencyKey', 'eventId', 'orderKey'] as const
      return keys.flatMap(key => {
        const header = headerOf(identity[key])
        if (header !== undefined && changing.test(header)) return [`identity.${key} reads header ${header}`]
        if (propertyOf(identity[key]) === 'timestampMs') return [`identity.${key} reads the timestamp`]
        return []
      })
    },
  },
  {
    id: 'OW104',
    severity: 'warning',
    title: 'Effects that must not happen twice have a business key',
    reason:
      'If a producer sends the same operation under a new message id, it is applied again: the id alone does not identify it.',
    fix: 'Set identity.businessKey to the identity of the operation: order and step, invoice, notification.',
    judge: consumer => {
      const { identity, risk, dedup } = consumer
      if (!(isGrave(risk) || risk === 'notification') || identity.businessKey !== undefined) return null
      if (recognises(consumer) || dedup !== 'marker') return null
      return `risk '${risk}' without identity.businessKey`
    },
  },
  {
    id: 'OW105',
    severity: 'note',
    title: 'A business key has a digest of its content',
    reason:
      'The same key with another amount counts as a repeat and is skipped; with a digest it is a conflict that an operator sees.',
    fix: 'Set identity.businessDigest to the fields that make up the content.',
    judge: ({ identity }) =>
      identity.businessKey !== undefined && identity.businessDigest === undefined
        ? 'identity.businessKey without identity.businessDigest'
        : null,
  },
  {
    id: 'OW106',
    severity: 'warning',
    title: 'The business key differs from the message id',
    reason: 'The same value twice adds no protection to the message id.',
    fix: 'Set identity.businessKey to the operation, or omit it.',
    judge: ({ identity: { id, businessKey } }) =>
      businessKey !== undefined && typeof id !== 'string' && sameFrom(id, businessKey)
        ? 'identity.businessKey is read from the same place as identity.id'
        : null,
  },
]
