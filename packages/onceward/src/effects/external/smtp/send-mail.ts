import { errorText } from '../../../errors.ts'
import type { Answer, ToldAnswer } from '../answer.ts'
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
 * The server said no, plainly: nothing was accepted. Before the first recipient it is us it refuses, not this
 * mail.
 */
class Refused extends Error {
  readonly reply: Reply
  readonly us: boolean

  constructor(step: string, reply: Reply) {
    // A server may repeat the command it did not like, and this one is the password.
    const said = step === 'AUTH' ? '' : ` ${reply.lines.at(-1) ?? ''}`
    super(`${step} was answered ${reply.code}${said}`.slice(0, 300))
    this.reply = reply
    this.us = ['the greeting', 'EHLO', 'STARTTLS', 'AUTH', 'MAIL FROM'].includes(step)
  }
}

/**
 * One mail, one connection. Until the line with the lone dot leaves, the server has nothing it could deliver:
 * whatever fails did not happen. From then on only the server's answer tells; without it the mail may be on
 * its way.
 */
export async function sendMail(
  server: MailServer,
  mail: OutgoingMail,
  { signal, expired }: Pick<SendContext, 'signal' | 'expired'>,
): Promise<Answer> {
  let handedOver = false
  let connection: SmtpConnection | null = null
  try {
    const opened = await SmtpConnection.open(server, signal)
    connection = opened.connection
    expect('the greeting', opened.greeting, 220)
    await greet(connection, server)
    expect('MAIL FROM', await connection.command(`MAIL FROM:<${mail.from}>`), 250)
    // All or none: with some refused, nobody could say later who got it.
    for (const to of mail.to) expect('RCPT TO', await connection.command(`RCPT TO:<${to}>`), 250, 251)
    expect('DATA', await connection.command('DATA'), 354)
    if (expired()) throw new Error('the time was over before the message was handed over')
    handedOver = true
    const reply = await connection.send(withDot(mail.message))
    if (reply.code === 250) return told('completed', reply, `accepted: ${reply.lines.at(-1) ?? ''}`)
    throw new Refused('the message', reply)
  } catch (error) {
    if (error instanceof Refused) return refusal(error)
    return { kind: handedOver ? 'lost' : 'not reached', error: errorText(error, 500) }
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
    throw new Error('the server does not take AUTH PLAIN')
  const { user, password } = credentials
  const secret = Buffer.from(`\0${user}\0${password}`).toString('base64')
  expect('AUTH', await connection.command(`AUTH PLAIN ${secret}`), 235)
}

function expect(step: string, reply: Reply, ...codes: readonly number[]): Reply {
  if (codes.includes(reply.code)) return reply
  throw new Refused(step, reply)
}

/** A line that begins with a dot gets another (RFC 5321, 4.5.2); the message ends with its own line end. */
function withDot(message: Buffer): Buffer {
  const text = message.toString('latin1').replaceAll(/^\./gm, '..')
  return Buffer.from(`${text}.\r\n`, 'latin1')
}

function refusal({ reply, us, message }: Refused): Answer {
  const later = us || (reply.code >= 400 && reply.code < 500)
  return { ...told(later ? 'retryable' : 'failed', reply, message), misconfigured: us && reply.code >= 500 }
}

function told(result: 'completed' | 'retryable' | 'failed', { code }: Reply, note: string): ToldAnswer {
  return { kind: 'told', result, status: code, digest: null, note: errorText(note, 500), retryAfterMs: null }
}
