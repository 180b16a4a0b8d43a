import { type AddressInfo, createServer, type Socket } from 'node:net'

export interface ReceivedMail {
  readonly from: string
  readonly to: readonly string[]
  /** As it came, dots undone. */
  readonly message: string
}

/**
 * What the server answers at a step, or that it hangs up there; `accepted, then gone` takes the mail and
 * hangs up instead of saying so.
 */
export type MailMood = Partial<
  Record<'greeting' | 'EHLO' | 'MAIL' | 'RCPT' | 'DATA' | 'message', string | 'gone'>
> & {
  readonly afterAccepting?: 'gone' | 'silence'
}

/** A mail server that speaks enough SMTP to be sent to, and can fail at every step. */
export class MailServer {
  readonly mails: ReceivedMail[] = []
  readonly moods: MailMood[] = []
  readonly #sockets = new Set<Socket>()
  readonly #server = createServer(socket => this.#serve(socket, this.moods.shift() ?? {}))
  connections = 0

  async open(): Promise<this> {
    await new Promise<void>(resolve => this.#server.listen(0, '127.0.0.1', resolve))
    return this
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  close(): void {
    this.#server.close()
    for (const socket of this.#sockets) socket.destroy()
  }

  #serve(socket: Socket, mood: MailMood): void {
    this.connections++
    this.#sockets.add(socket.on('error', () => {}))
    const say = (step: keyof MailMood, line: string) => {
      const answer = mood[step] ?? line
      if (answer === 'gone') socket.destroy()
      else socket.write(`${answer}\r\n`)
      return answer === line
    }
    let buffer = ''
    let from = ''
    let to: string[] = []
    let data = false
    say('greeting', '220 test')
    socket.setEncoding('latin1').on('data', chunk => {
      buffer += chunk
      for (;;) {
        const end = buffer.indexOf(data ? '\r\n.\r\n' : '\r\n')
        if (end < 0) return
        const text = buffer.slice(0, end)
        buffer = buffer.slice(end + (data ? 5 : 2))
        if (data) {
          data = false
          if (mood.message !== undefined) {
            say('message', '')
            continue
          }
          this.mails.push({ from, to, message: `${text}\r\n`.replaceAll(/^\.\./gm, '.') })
          if (mood.afterAccepting === 'gone') return void socket.destroy()
          if (mood.afterAccepting !== 'silence') say('message', '250 queued as 1')
        } else if (/^EHLO/i.test(text)) say('EHLO', '250-test\r\n250 8BITMIME')
        else if (/^MAIL FROM:<(.*)>/i.test(text)) {
          from = text.slice(11, -1)
          say('MAIL', '250 ok')
        } else if (/^RCPT TO:<(.*)>/i.test(text)) {
          if (say('RCPT', '250 ok')) to = [...to, text.slice(9, -1)]
        } else if (text === 'DATA') data = say('DATA', '354 go on')
        else socket.write(`500 what is ${text}?\r\n`)
      }
    })
  }
}
