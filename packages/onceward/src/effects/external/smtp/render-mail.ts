import { createHash } from 'node:crypto'
import { type Mail, recipientsOf } from './mail.ts'
import type { Composer } from './mail-composer.ts'

export interface MailFrame {
  readonly from: string
  readonly messageIdDomain: string
  /** Stable for the effect: target and key. */
  readonly identity: string
  /** When the intent was recorded, not when it is sent. */
  readonly createdAt: Date
}

/**
 * The same bytes for the same effect, whenever and by whomever it is sent: Message-ID, date and boundary
 * follow from the intent, so nothing is left for the composer to draw. Another version of the composer may
 * fold lines elsewhere; the Message-ID stays.
 */
export async function renderMail(compose: Composer, mail: Mail, frame: MailFrame): Promise<Buffer> {
  const name = createHash('sha256').update(frame.identity).digest('hex').slice(0, 40)
  const message = await compose({
    from: { name: '', address: frame.from },
    to: recipientsOf(mail).map(address => ({ name: '', address })),
    ...(mail.replyTo !== undefined && { replyTo: { name: '', address: mail.replyTo } }),
    subject: mail.subject,
    text: exactly(mail.text),
    ...(mail.html !== undefined && { html: exactly(mail.html) }),
    date: frame.createdAt,
    messageId: `<${name}@${frame.messageIdDomain}>`,
    baseBoundary: name,
  })
  return message.subarray(-2).equals(lineEnd) ? message : Buffer.concat([message, lineEnd])
}

const lineEnd = Buffer.from('\r\n')

/**
 * Left to itself the composer sends ASCII as "format=flowed" and breaks long lines, which not every reader
 * puts together again.
 */
function exactly(text: string) {
  return { content: text.replaceAll(/\r?\n/g, '\r\n'), contentTransferEncoding: 'base64' }
}
