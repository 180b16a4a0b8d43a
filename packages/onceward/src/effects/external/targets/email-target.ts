import type { EmailTarget } from '../../../contract/external-target.ts'
import { withDefaults } from '../../../contract/options/defaults.ts'
import { errorText } from '../../../errors.ts'
import { guardedLookup } from '../http/address-guard.ts'
import { readMail, recipientsOf } from '../smtp/mail.ts'
import { type Composer, loadComposer } from '../smtp/mail-composer.ts'
import { renderMail } from '../smtp/render-mail.ts'
import { sendMail } from '../smtp/send-mail.ts'
import { changedBytes } from './http-target.ts'
import type { ReadSecret } from './resolve-target.ts'
import type { Send } from './target.ts'

/** Sends the stored JSON as a mail, over a separate connection. */
export function emailSend(
  { consumerName, name }: { readonly consumerName: string; readonly name: string },
  target: EmailTarget,
  secret: ReadSecret,
  refuse: (why: string) => Error,
  compose: Composer | null = loadComposer(),
): Send {
  if (compose === null)
    throw refuse('nodemailer, which composes the messages, is not installed: run "npm install nodemailer"')
  const { host, from, credentials } = target
  const { port, tls, messageIdDomain, allowPrivate } = withDefaults('effect.external.*', target)
  const server = {
    host,
    port,
    tls,
    credentials: credentials
      ? { user: secret(credentials.user), password: secret(credentials.password) }
      : null,
    ...(allowPrivate !== true && { lookup: guardedLookup() }),
  }
  return async ({ key, body, requestDigest, createdAt, originalName }, context) => {
    const changed = changedBytes(body, requestDigest)
    if (changed !== null) return changed
    const mail = readMail(body)
    if ('problem' in mail)
      return {
        kind: 'not sendable',
        error: `The body is not a valid mail: ${mail.problem}. Nothing was sent.`,
      }
    const identity = `${originalName ?? consumerName}\0${name}\0${key}`
    const frame = { from, messageIdDomain, identity, createdAt: createdAt! }
    const message = await renderMail(compose, mail, frame).catch(error => errorText(error, 300))
    if (typeof message === 'string')
      return { kind: 'not sendable', error: `The mail cannot be composed: ${message}. Nothing was sent.` }
    return sendMail(server, { from, to: recipientsOf(mail), message }, context)
  }
}
