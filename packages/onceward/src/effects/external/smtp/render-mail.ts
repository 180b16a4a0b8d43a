import { createHash } from 'node:crypto'
import { type Mail, recipientsOf } from './mail.ts'
import type { Composer } from './mail-composer.ts'

export interface MailFrame {
  readonly from: string
  readonly messageIdDomain: string
  /** Stable for the effect: consumer, target and key. */
  readonly identity: string
  /** When the intent was recorded, not when it is sent. */
  readonly createdAt: Date
}

/**
 * Renders the same bytes for the same effect, at any time and in any process. Message-ID, date and boundary
 * derive from the intent, so the composer generates none of them. Another version of the composer may fold
 * lines differently; the Message-ID stays the same.
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
 * By default the composer sends ASCII as "format=flowed" and breaks long lines, which not every mail reader
 * rejoins.
 */
function exactly(text: string) {
  return { content: text.replaceAll(/\r?\n/g, '\r\n'), contentTransferEncoding: 'base64' }
}
