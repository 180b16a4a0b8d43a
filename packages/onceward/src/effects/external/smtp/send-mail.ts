import { errorText } from '../../../errors.ts'
import type { Answer, ReportedAnswer } from '../answer.ts'
import type { SendContext } from '../targets/target.ts'
import { type Reply, SmtpConnection, type SmtpServer } from './smtp-connection.ts'

export interface MailServer extends SmtpServer {
  readonly credentials: { readonly user: string; readonly password: string } | null
}

export interface OutgoingMail {
  readonly from: string
  readonly to: readonly string[]
  readonly message: Buffer
}

/**
 * The server refused: nothing was accepted. Before the first recipient it refuses the client, not this mail.
 */
class Refused extends Error {
  readonly reply: Reply
  readonly us: boolean

  constructor(step: string, reply: Reply) {
    // A server may echo the refused command, and this one contains the password.
    const said = step === 'AUTH' ? '' : ` ${reply.lines.at(-1) ?? ''}`
    super(`${step} was answered ${reply.code}${said}`.slice(0, 300))
    this.reply = reply
    this.us = ['the greeting', 'EHLO', 'STARTTLS', 'AUTH', 'MAIL FROM'].includes(step)
  }
}

/**
 * One mail, one connection. Until the final dot is sent, the server has nothing to deliver, so any failure
 * means the mail was not sent. Afterwards only the server's reply is evidence. Without it the mail may have
 * been delivered.
 */
export async function sendMail(
  server: MailServer,
  mail: OutgoingMail,
  { signal, expired }: Pick<SendContext, 'signal' | 'expired'>,
): Promise<Answer> {
  let dotSent = false
  let connection: SmtpConnection | null = null
  try {
    const opened = await SmtpConnection.open(server, signal)
    connection = opened.connection
    expect('the greeting', opened.greeting, 220)
    await greet(connection, server)
    expect('MAIL FROM', await connection.command(`MAIL FROM:<${mail.from}>`), 250)
    // All recipients or none: if some were refused, the ledger could not record who received it.
    for (const to of mail.to) expect('RCPT TO', await connection.command(`RCPT TO:<${to}>`), 250, 251)
    expect('DATA', await connection.command('DATA'), 354)
    if (expired()) throw new Error('the deadline passed before the message was sent')
    dotSent = true
    const reply = await connection.send(withDot(mail.message))
    if (reply.code === 250) return reported('completed', reply, `accepted: ${reply.lines.at(-1) ?? ''}`)
    throw new Refused('the message', reply)
  } catch (error) {
    if (error instanceof Refused) return refusal(error)
    return { kind: dotSent ? 'lost' : 'not reached', error: errorText(error, 500) }
  } finally {
    connection?.close()
  }
}

async function greet(connection: SmtpConnection, { tls, credentials }: MailServer): Promise<void> {
  const hello = () => connection.command('EHLO onceward.invalid')
  let features = expect('EHLO', await hello(), 250)
  if (tls === 'starttls') {
    expect('STARTTLS', await connection.command('STARTTLS'), 220)
    await connection.secure()
    features = expect('EHLO', await hello(), 250)
  }
  if (credentials === null) return
  if (!features.lines.some(line => /^AUTH .*\bPLAIN\b/i.test(line)))
    throw new Error('the server does not support AUTH PLAIN')
  const { user, password } = credentials
  const secret = Buffer.from(`\0${user}\0${password}`).toString('base64')
  expect('AUTH', await connection.command(`AUTH PLAIN ${secret}`), 235)
}

function expect(step: string, reply: Reply, ...codes: readonly number[]): Reply {
  if (codes.includes(reply.code)) return reply
  throw new Refused(step, reply)
}

/** Doubles a dot at the start of a line (RFC 5321, 4.5.2). The message already ends with a line end. */
function withDot(message: Buffer): Buffer {
  const text = message.toString('latin1').replaceAll(/^\./gm, '..')
  return Buffer.from(`${text}.\r\n`, 'latin1')
}

function refusal({ reply, us, message }: Refused): Answer {
  const later = us || (reply.code >= 400 && reply.code < 500)
  return {
    ...reported(later ? 'retryable' : 'failed', reply, message),
    misconfigured: us && reply.code >= 500,
  }
}

function reported(
  result: 'completed' | 'retryable' | 'failed',
  { code }: Reply,
  note: string,
): ReportedAnswer {
  return {
    kind: 'reported',
    result,
    status: code,
    digest: null,
    note: errorText(note, 500),
    retryAfterMs: null,
  }
}
