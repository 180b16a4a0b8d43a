import { createRequire } from 'node:module'

/**
 * Composes headers, encoded words, folding and MIME parts, with CRLF. Takes nodemailer's message options.
 * Opens no file and no URL.
 */
export type Composer = (mail: object) => Promise<Buffer>

type MailComposer = new (options: object) => { compile(): { build(): Promise<Buffer> } }

/**
 * nodemailer composes the message. It is an optional peer dependency, for consumers that send mail. Null when
 * it is not installed. Loaded synchronously, because a target without it is refused when it is created.
 *
 * The SMTP conversation is implemented here (send-mail.ts and smtp-connection.ts, 223 lines). The ledger must
 * know whether the final dot had been sent when something failed. nodemailer's transport reports a broken
 * connection in the same way before and after it.
 */
export function loadComposer(from: string = import.meta.url): Composer | null {
  let Message: MailComposer
  try {
    Message = createRequire(from)('nodemailer/lib/mail-composer/index.js')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'MODULE_NOT_FOUND') return null
    throw error
  }
  const settings = { newline: 'windows', disableFileAccess: true, disableUrlAccess: true }
  return mail => new Message({ ...mail, ...settings }).compile().build()
}
