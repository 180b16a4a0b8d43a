import { connect as connectPlain, isIP, type LookupFunction, type Socket } from 'node:net'
import { connect as connectTls, type TLSSocket } from 'node:tls'

export interface Reply {
  readonly code: number
  readonly lines: readonly string[]
}

export interface SmtpServer {
  readonly host: string
  readonly port: number
  readonly tls: 'implicit' | 'starttls' | 'none'
  readonly lookup?: LookupFunction
}

const replyLinesMax = 100
const replyBytesMax = 16 * 1024

/** One conversation: sends a line, awaits a reply. Ends when the socket ends. */
export class SmtpConnection {
  readonly #server: SmtpServer
  readonly #signal: AbortSignal
  #socket: Socket
  #buffer = ''
  #lines: string[] = []
  #waiting: PromiseWithResolvers<Reply> | null = null
  #ended: Error | null = null

  private constructor(server: SmtpServer, signal: AbortSignal) {
    this.#server = server
    this.#signal = signal
    const { host, port, tls, lookup } = server
    const to = { host, port, ...(lookup && { lookup }) }
    this.#socket = tls === 'implicit' ? connectTls({ ...to, ...provenAs(host) }) : connectPlain(to)
    this.#listen()
    signal.addEventListener('abort', this.#abort, { once: true })
  }

  /** Resolves with the connection and the server's greeting. */
  static async open(server: SmtpServer, signal: AbortSignal) {
    signal.throwIfAborted()
    const connection = new SmtpConnection(server, signal)
    const greeting = await connection.#reply().catch(error => {
      connection.close()
      throw error
    })
    return { connection, greeting }
  }

  command(line: string): Promise<Reply> {
    return this.send(`${line}\r\n`)
  }

  send(bytes: string | Buffer): Promise<Reply> {
    const reply = this.#reply()
    if (this.#ended === null) this.#socket.write(bytes)
    return reply
  }

  /** Input received before TLS is refused: an attacker in between may have injected it. */
  async secure(): Promise<void> {
    const plain = this.#socket
    plain.removeAllListeners('data')
    if (this.#buffer !== '' || this.#lines.length > 0)
      throw new Error('the server sent data before TLS began')
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const socket: TLSSocket = connectTls({ socket: plain, ...provenAs(this.#server.host) }, resolve)
    socket.once('error', reject)
    socket.once('close', () => reject(new Error('the connection ended during the TLS handshake')))
    this.#socket = socket
    this.#listen()
    await promise
  }

  close(): void {
    this.#signal.removeEventListener('abort', this.#abort)
    this.#socket.destroy()
  }

  readonly #abort = () => void this.#socket.destroy(this.#signal.reason)

  #listen(): void {
    const socket = this.#socket
    socket.on('data', chunk => this.#take(chunk.toString('latin1')))
    socket.on('error', error => this.#end(error))
    socket.on('close', () => this.#end(new Error('the server closed the connection')))
  }

  #reply(): Promise<Reply> {
    this.#waiting = Promise.withResolvers<Reply>()
    if (this.#ended !== null) this.#waiting.reject(this.#ended)
    return this.#waiting.promise
  }

  #take(text: string): void {
    this.#buffer += text
    for (let end = this.#buffer.indexOf('\n'); end >= 0; end = this.#buffer.indexOf('\n')) {
      this.#line(this.#buffer.slice(0, end).replace(/\r$/, ''))
      this.#buffer = this.#buffer.slice(end + 1)
    }
    if (this.#buffer.length > replyBytesMax || this.#lines.length > replyLinesMax)
      this.#socket.destroy(new Error('the reply exceeds the size limit'))
  }

  #line(line: string): void {
    this.#lines.push(line.slice(4, 500))
    if (/^\d{3}-/.test(line)) return
    if (!/^\d{3}( |$)/.test(line)) return void this.#socket.destroy(new Error('the reply is not SMTP'))
    const lines = this.#lines
    this.#lines = []
    this.#waiting?.resolve({ code: Number(line.slice(0, 3)), lines })
    this.#waiting = null
  }

  #end(error: Error): void {
    this.#ended ??= error
    this.#waiting?.reject(error)
    this.#waiting = null
  }
}

/**
 * A certificate for an IP address is verified against the address, without a server name: Node will soon
 * refuse an address as server name.
 */
function provenAs(host: string) {
  return { host, ...(isIP(host) === 0 && { servername: host }), rejectUnauthorized: true }
}
