import { createHash } from 'node:crypto'
import { isNamed } from '../declared/is-named.ts'

/** What makes two notifications the same one: not the message that asked for it, and not its text. */
export interface NotificationIdentity {
  /** Of the occasion: the order that was shipped, the invoice that is due. */
  readonly notificationId: string
  readonly recipient: string
  /** Raised when the text changes so much that the recipient should get it again. */
  readonly templateVersion: string | number
}

/**
 * The key of a notification, for `effects.external`: one ledger row, and so one sending, per occasion,
 * recipient and template version, however many messages ask for it. Recipients are hashed: keys are shown in
 * lists and sent to targets.
 */
export function notification({ notificationId, recipient, templateVersion }: NotificationIdentity): {
  readonly key: string
} {
  for (const [field, value] of Object.entries({ notificationId, recipient, templateVersion }))
    if (!isNamed(value))
      throw new TypeError(
        `notification: ${field} is missing, or a number of 2^53 or more, which is given as text; nothing was recorded`,
      )
  const identity = JSON.stringify([notificationId, recipient, templateVersion].map(String))
  return { key: `notification-${createHash('sha256').update(identity).digest('hex')}` }
}
