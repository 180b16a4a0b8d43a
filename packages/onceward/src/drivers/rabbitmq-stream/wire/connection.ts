import { connect as connectTcp, isIP, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { errorText, OncewardError } from '../../../errors.ts'
import { readTls } from '../../tls/broker-tls.ts'
import { tlsRefusal } from '../../tls/tls-refusal.ts'
import type { StreamAddress } from '../address.ts'
import { answerBit, command, FrameReader, FrameWriter, StreamRefusal } from './frame.ts'
import { FrameSplitter } from './frame-splitter.ts'

/** Receives the broker's unsolicited frames for one subscription. Must not throw. */
export interface SubscriptionListener {
  /** A chunk begins at `at`. `committed` is the first offset of the newest chunk in the stream. */
  onChunk(frame: Buffer, at: number, committed: number): void
  /** The broker activates or deactivates this consumer, and waits for `answer`. */
  onActive(active: boolean, answer: (from: number | null) => void): void
}

const requestTimeoutMs = 10_000
/** The reason of a connection that this process closed gracefully. */
export const closedHere = 'closed by this process'

/**
 * One socket with the stream protocol. It ends once, and then every wait on it is rejected. No input can
 * throw out of the socket's callbacks.
 */
export class StreamConnection {
  readonly #socket: Socket
  readonly #splitter = new FrameSplitter()
  readonly #ended = Promise.withResolvers<string>()
  readonly #waiting = new Map<number, Waiting>()
  readonly #listeners = new Map<number, SubscriptionListener>()
  readonly #tuned = Promise.withResolvers<{ frameMax: number; heartbeatS: number }>()
  #correlation = 0
  #reason: string | null = null
  #heard = true
  #heardMs = performance.now()
  #hasSent = true
  #beating: NodeJS.Timeout | undefined
  /** A stream of this connection was deleted or moved: its subscriptions have ended. */
  onUnavailable: (stream: string) => void = () => {}

  private constructor(socket: Socket) {
    this.#socket = socket
    this.#tuned.promise.catch(() => {})
    socket.setNoDelay(true)
    socket.on('data', bytes => this.#read(bytes))
    socket.on('error', error => this.destroy(error.message))
    socket.on('close', () => this.destroy('the broker closed the connection'))
  }

  /** Resolves with a connected socket, before the handshake. */
  static async connect(
    { host, port, tls }: StreamAddress,
    timeoutMs: number,
    signal?: AbortSignal,
  ): Promise<StreamConnection> {
    const where = `RabbitMQ streams at ${host}:${port}`
    const name = isIP(host) === 0 ? { servername: host } : {}
    const socket =
      tls === null ? connectTcp({ host, port }) : connectTls({ host, port, ...name, ...readTls(tls, where) })
    let failure: unknown
    socket.once('error', error => {
      failure = error
    })
    const connection = new StreamConnection(socket)
    const late = setTimeout(
      () => connection.destroy(`no answer from ${host}:${port} in ${timeoutMs} ms`),
      timeoutMs,
    )
    const ready = new Promise<void>(resolve =>
      socket.once(tls ? 'secureConnect' : 'connect', () => resolve()),
    )
    const giveUp = () => connection.destroy('aborted')
    signal?.addEventListener('abort', giveUp)
    if (signal?.aborted) giveUp()
    const ended = await Promise.race([ready, connection.ended]).finally(() => {
      clearTimeout(late)
      signal?.removeEventListener('abort', giveUp)
    })
    if (typeof ended !== 'string') return connection
    const why = tlsRefusal(failure)
    throw why === null ? new Error(ended, { cause: failure }) : tlsError(where, why, failure)
  }

  get live(): boolean {
    return this.#reason === null
  }

  /** Time since the last input from the broker. */
  get silentMs(): number {
    return performance.now() - this.#heardMs
  }

  /** Resolves once, with the reason, however it ended. */
  get ended(): Promise<string> {
    return this.#ended.promise
  }

  /** The broker's limits, once it has sent them. */
  get tuned(): Promise<{ frameMax: number; heartbeatS: number }> {
    return this.#tuned.promise
  }

  /**
   * Sends a request and waits. Rejects with a `StreamRefusal` when the broker refuses, with another error
   * when the connection ends.
   */
  request<T>(
    key: number,
    what: string,
    write: (frame: FrameWriter) => void,
    read: (answer: FrameReader) => T,
    { hasCode = true } = {},
  ): Promise<T> {
    if (this.#reason !== null) return Promise.reject(new Error(this.#reason))
    const correlation = ++this.#correlation
    const frame = new FrameWriter(key).u32(correlation)
    write(frame)
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    const late = setTimeout(
      () => this.destroy(`no answer to "${what}" in ${requestTimeoutMs} ms`),
      requestTimeoutMs,
    )
    this.#waiting.set(correlation, {
      answer: reader => {
        clearTimeout(late)
        try {
          const answered = hasCode ? reader.u16() : 1
          if (answered === 1) resolve(read(reader))
          else reject(new StreamRefusal(what, answered))
        } catch (error) {
          reject(error)
        }
      },
      end: reason => {
        clearTimeout(late)
        reject(new Error(reason))
      },
    })
    this.send(frame)
    return promise
  }

  /** Sends a frame without an answer. Does nothing once the connection has ended. */
  send(frame: FrameWriter): void {
    if (this.#reason !== null) return
    this.#hasSent = true
    this.#socket.write(frame.end())
  }

  /** The lowest free id; a connection has 256. */
  listen(listener: SubscriptionListener): number {
    let id = 0
    while (this.#listeners.has(id)) id++
    if (id > 255) throw new Error('more than 256 subscriptions on one connection')
    this.#listeners.set(id, listener)
    return id
  }

  forget(id: number): void {
    this.#listeners.delete(id)
  }

  /** Destroys a connection without any input for two heartbeat intervals. */
  keepAlive(heartbeatS: number): void {
    if (heartbeatS <= 0) return
    let silent = 0
    this.#beating = setInterval(() => {
      silent = this.#heard ? 0 : silent + 1
      if (silent >= 2) this.destroy(`no heartbeat from the broker for ${silent * heartbeatS} s`)
      if (!this.#hasSent) this.send(new FrameWriter(command.heartbeat))
      this.#heard = false
      this.#hasSent = false
    }, heartbeatS * 1_000)
    this.#beating.unref()
  }

  /** Closes gracefully, and destroys the socket when the broker does not answer in time. Never rejects. */
  async close(timeoutMs: number): Promise<void> {
    const late = setTimeout(() => this.destroy(closedHere), timeoutMs)
    await this.request(
      command.close,
      'close',
      frame => frame.u16(1).text('OK'),
      () => {},
    ).catch(() => {})
    clearTimeout(late)
    this.destroy(closedHere)
  }

  destroy(reason: string): void {
    if (this.#reason !== null) return
    this.#reason = reason
    clearInterval(this.#beating)
    this.#socket.destroy()
    this.#listeners.clear()
    for (const waiting of this.#waiting.values()) waiting.end(reason)
    this.#waiting.clear()
    this.#tuned.reject(new Error(reason))
    this.#ended.resolve(reason)
  }

  #read(bytes: Buffer): void {
    this.#heard = true
    this.#heardMs = performance.now()
    try {
      this.#splitter.add(bytes, frame => {
        if (this.#reason === null) this.#dispatch(frame)
      })
    } catch (error) {
      this.destroy(errorText(error))
    }
  }

  #dispatch(frame: Buffer): void {
    const reader = new FrameReader(frame)
    const key = reader.u16()
    const version = reader.u16()
    switch (key) {
      case command.deliver: {
        const listener = this.#listeners.get(reader.u8())
        const committed = version === 2 ? Number(reader.i64()) : -1
        return listener?.onChunk(frame, reader.at, committed)
      }
      case command.consumerUpdate:
        return this.#consumerUpdate(reader.u32(), reader.u8(), reader.u8() === 1)
      case command.metadataUpdate:
        reader.u16()
        return this.onUnavailable(reader.text())
      case command.tune:
        return this.#tuned.resolve({ frameMax: reader.u32(), heartbeatS: reader.u32() })
      case command.heartbeat:
      case command.credit | answerBit:
        return
      case command.close:
        return this.#closedByBroker(reader)
    }
    const correlation = reader.u32()
    const waiting = this.#waiting.get(correlation)
    this.#waiting.delete(correlation)
    waiting?.answer(reader)
  }

  #consumerUpdate(correlation: number, id: number, active: boolean): void {
    const answer = (from: number | null) => {
      const frame = new FrameWriter(command.consumerUpdate | answerBit).u32(correlation).u16(1)
      this.send(from === null ? frame.u16(0) : frame.u16(4).u64(BigInt(from)))
    }
    const listener = this.#listeners.get(id)
    if (listener === undefined) answer(null)
    else listener.onActive(active, answer)
  }

  #closedByBroker(reader: FrameReader): void {
    const correlation = reader.u32()
    const closing = reader.u16()
    this.send(new FrameWriter(command.close | answerBit).u32(correlation).u16(1))
    this.destroy(`the broker closed the connection: ${reader.text()} (code ${closing})`)
  }
}

function tlsError(where: string, why: string, cause: unknown): OncewardError {
  return new OncewardError('configuration', `${where}: ${why}. Nothing was consumed or settled.`, {
    cause,
    details: { tls: true },
  })
}

interface Waiting {
  answer(reader: FrameReader): void
  end(reason: string): void
}
