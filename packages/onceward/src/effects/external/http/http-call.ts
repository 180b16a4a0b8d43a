import type { Dispatcher } from 'undici'
import { errorText } from '../../../errors.ts'
import { bytesDigest } from '../../../message/digest.ts'
import { type Answer, type HttpAnswer, replyBytesMax } from '../answer.ts'
import type { SendContext } from '../targets/target.ts'
import { type ReplyHeaders, retryAfterMs } from './retry-after.ts'

type Controller = Dispatcher.DispatchController

/**
 * One call from its dispatch to its answer:
 *
 *   waiting for a connection ──connected──▶ sent ──head of the reply──▶ answering ──▶ answered
 *            └── not reached                  └── lost                      (whole, capped or broken)
 *
 * No byte is sent before the connection is open, with TLS to a verified peer. So a call can be lost only
 * after that. A process that was frozen while connecting checks the deadline again before it sends.
 */
export class HttpCall implements Dispatcher.DispatchHandler {
  readonly #replayedHeader: string
  readonly #context: Pick<SendContext, 'signal' | 'expired'>
  readonly #answer = Promise.withResolvers<Answer>()
  readonly #giveUp = () => this.#abort()
  readonly #chunks: Buffer[] = []
  #bytes = 0
  /** Set from the moment the request is sent. */
  #sending: Controller | null = null
  #head: { readonly status: number; readonly headers: ReplyHeaders } | null = null
  #ended = false

  constructor(replayedHeader: string, context: Pick<SendContext, 'signal' | 'expired'>) {
    this.#replayedHeader = replayedHeader
    this.#context = context
    context.signal.addEventListener('abort', this.#giveUp, { once: true })
    if (context.signal.aborted) this.#abort()
  }

  get answer(): Promise<Answer> {
    return this.#answer.promise
  }

  onRequestStart(controller: Controller): void {
    if (this.#ended) return controller.abort(new Error('aborted before anything was sent'))
    if (this.#context.expired())
      return controller.abort(new Error('the deadline passed before anything was sent'))
    this.#sending = controller
  }

  /** Informational responses (1xx) are not the answer. */
  onResponseStart(_: Controller, status: number, headers: ReplyHeaders): void {
    if (status >= 200) this.#head = { status, headers }
  }

  /** Reads up to the cap and then closes the connection, which bounds the cost of an endless reply. */
  onResponseData(controller: Controller, chunk: Buffer): void {
    this.#chunks.push(chunk)
    this.#bytes += chunk.byteLength
    if (this.#bytes <= replyBytesMax) return
    this.#answered('capped')
    controller.abort(new Error('the reply is too long'))
  }

  onResponseEnd(): void {
    this.#answered('whole')
  }

  onResponseError(_: Controller, error: Error): void {
    this.fail(error)
  }

  fail(error: Error): void {
    if (this.#head !== null) return this.#ended ? undefined : this.#answered('broken')
    this.#finish({ kind: this.#sending === null ? 'not reached' : 'lost', error: errorText(error, 500) })
  }

  #abort(): void {
    const { reason } = this.#context.signal
    if (this.#sending !== null) this.#sending.abort(reason)
    else this.#finish({ kind: 'not reached', error: errorText(reason, 500) })
  }

  #answered(reply: HttpAnswer['reply']): void {
    const { status, headers } = this.#head!
    const body = this.#chunks.length === 1 ? this.#chunks[0]! : Buffer.concat(this.#chunks)
    const kept = body.subarray(0, replyBytesMax)
    this.#finish({
      kind: 'answered',
      status,
      body: kept,
      digest: bytesDigest(kept),
      reply,
      retryAfterMs: retryAfterMs(headers),
      replayed: headers[this.#replayedHeader] === 'true',
    })
  }

  #finish(answer: Answer): void {
    if (this.#ended) return
    this.#ended = true
    this.#context.signal.removeEventListener('abort', this.#giveUp)
    this.#answer.resolve(answer)
  }
}
