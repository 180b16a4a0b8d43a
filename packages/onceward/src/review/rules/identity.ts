import type { From } from '../../contract/contract.ts'
import type { Consumer } from '../../contract/define-consumer.ts'
import { isGrave } from '../../contract/failure-rules.ts'
import type { Rule } from '../rule.ts'

/** Written anew by brokers and libraries on the way: never the same twice. */
const changing =
  /^(x-delivery-count|x-acquired-count|x-death|x-first-death-.*|x-last-death-.*|x-opt-.*|onceward-retry|traceparent|tracestate|b3|x-b3-.*|x-request-id|date)$/i

const headerOf = (from: unknown) => (from as { header?: string } | null)?.header
const propertyOf = (from: unknown) => (from as { property?: string } | null)?.property

/** A declared effect that recognises an operation by itself, whatever id its message has. */
const recognises = ({ effect }: Consumer) => effect?.apply !== undefined && effect.apply.kind !== 'audit'

const sameFrom = (one: From<unknown>, other: From<unknown> | undefined) =>
  (headerOf(one) !== undefined && headerOf(one) === headerOf(other)) ||
  (propertyOf(one) !== undefined && propertyOf(one) === propertyOf(other)) ||
  one === other

export const identityRules: readonly Rule<Consumer>[] = [
  {
    id: 'OW101',
    severity: 'error',
    title: 'A place in a log is not the identity of money',
    reason:
      'A producer that writes the same event twice gives it two places, so it is applied twice; so does a copy of the topic.',
    fix: 'Set identity.id to an id the producer gives, or identity.businessKey to the operation.',
    judge: ({ identity, risk }) =>
      identity.id === 'position' && identity.businessKey === undefined && isGrave(risk)
        ? `identity.id is 'position' with risk '${risk}' and no identity.businessKey`
        : null,
  },
  {
    id: 'OW102',
    severity: 'note',
    title: 'A place in a log identifies a record, not an event',
    reason: 'The same event written twice is two messages. For telemetry that may be all right.',
    fix: 'Set identity.id to an id of the event where there is one.',
    judge: ({ identity, risk }) =>
      identity.id === 'position' && !isGrave(risk) ? `identity.id is 'position'` : null,
  },
  {
    id: 'OW103',
    severity: 'error',
    title: 'Identities are read from what stays the same',
    reason: 'Such a value changes with every delivery, so every redelivery would pass for a new message.',
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
    title: 'What must not happen twice has a business key',
    reason:
      'A producer that sends the same operation again under a new message id has it applied again: the id alone cannot tell.',
    fix: 'Set identity.businessKey to what makes the operation one: order and step, invoice, notification.',
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
      'The same key with another amount is taken for a repeat and skipped; with a digest it is a conflict that people see.',
    fix: 'Set identity.businessDigest to the fields that make the content.',
    judge: ({ identity }) =>
      identity.businessKey !== undefined && identity.businessDigest === undefined
        ? 'identity.businessKey without identity.businessDigest'
        : null,
  },
  {
    id: 'OW106',
    severity: 'warning',
    title: 'The business key is another than the message id',
    reason: 'The same value twice protects against nothing that the message id does not.',
    fix: 'Set identity.businessKey to the operation, or leave it out.',
    judge: ({ identity: { id, businessKey } }) =>
      businessKey !== undefined && id !== 'position' && sameFrom(id, businessKey)
        ? 'identity.businessKey is read from the same place as identity.id'
        : null,
  },
]
