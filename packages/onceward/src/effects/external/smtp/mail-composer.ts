import { createRequire } from 'node:module'

/**
 * Headers, encoded words, folding and MIME parts, with CRLF. Takes nodemailer's options of a message; opens
 * no file and no address.
 */
export type Composer = (mail: object) => Promise<Buffer>

type MailComposer = new (options: object) => { compile(): { build(): Promise<Buffer> } }

/**
 * nodemailer writes the message; it is an optional peer, for those who send mail. Null when it is not
 * installed. Loaded without waiting, because a target is refused where it is made.
 *
 * The conversation stays ours (send-mail.ts and smtp-connection.ts, 223 lines): the ledger must know whether
 * the final dot had left when something failed. nodemailer's transport reports a connection that breaks in
 * the same way before and after it.
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
