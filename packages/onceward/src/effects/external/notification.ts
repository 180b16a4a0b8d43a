import { createHash } from 'node:crypto'
import { isNamed } from '../declared/is-named.ts'

/** The identity of a notification. Neither the message that requested it nor its text is part of it. */
export interface NotificationIdentity {
  /** Identifies the occasion: the shipped order, the due invoice. */
  readonly notificationId: string
  readonly recipient: string
  /** Raise it when the text changes so much that the recipient should get it again. */
  readonly templateVersion: string | number
}

/**
 * The key of a notification, for `effects.external`. It creates one ledger row, and so one delivery, per
 * occasion, recipient and template version, however many messages request it. Recipients are hashed, because
 * keys are shown in lists and sent to targets.
 */
export function notification({ notificationId, recipient, templateVersion }: NotificationIdentity): {
  readonly key: string
} {
  for (const [field, value] of Object.entries({ notificationId, recipient, templateVersion }))
    if (!isNamed(value))
      throw new TypeError(
        `notification: ${field} is missing, or is a number of 2^53 or more; pass such numbers as text. Nothing was recorded`,
      )
  const identity = JSON.stringify([notificationId, recipient, templateVersion].map(String))
  return { key: `notification-${createHash('sha256').update(identity).digest('hex')}` }
}
