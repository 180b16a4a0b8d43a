import type { ExternalTarget } from '../../contract/external-target.ts'
import type { InlineAnswer } from '../../contract/handler.ts'
import type { Environment } from '../../environment.ts'
import { OncewardError } from '../../errors.ts'
import type { Intent } from '../../ports/outgoing.ts'
import type { Answer } from './answer.ts'
import { callTarget } from './call-target.ts'
import { type ReadVariable, resolveTarget } from './targets/resolve-target.ts'
import type { ExternalCaller } from './targets/target.ts'

export interface InlineOptions {
  readonly env: Environment
  readonly readVariable?: ReadVariable
}

interface Caller {
  readonly name: string
  readonly effect?: { readonly external?: Readonly<Record<string, ExternalTarget>> } | undefined
}

/**
 * The calls a handler makes with `effects.call`: immediately, inside its transaction, under the stable key.
 * There is no ledger row, so only the target remembers a call whose batch rolled back. Therefore only policy
 * `keyed` is allowed. Calls are not retried here: an error fails the message.
 */
export function createInlineCalls(consumer: Caller, { env, readVariable }: InlineOptions) {
  const opened = new Map<string, ExternalCaller>()
  const open = (name: string): ExternalCaller => {
    const known = opened.get(name)
    if (known !== undefined) return known
    const owner = { consumerName: consumer.name, ...(readVariable && { readVariable }) }
    const target = resolveTarget(name, consumer.effect!.external![name]!, owner)
    if (target.policy !== 'keyed')
      throw new OncewardError(
        'configuration',
        `External target "${name}" cannot be called inline: its policy is "${target.policy}", and a batch that rolls back repeats the call. Use effects.external, or a target that honours keys. Nothing was sent.`,
      )
    opened.set(name, target)
    return target
  }
  return async (intent: Intent, signal: AbortSignal): Promise<InlineAnswer> => {
    const target = open(intent.target)
    const outbound = {
      ...intent,
      requestDigest: intent.digest,
      createdAt: null,
      leasedAtMs: null,
      attempts: 1,
    }
    return answerOf(target, await callTarget(target, outbound, env, signal))
  }
}

function answerOf({ name }: ExternalCaller, answer: Answer): InlineAnswer {
  if (answer.kind === 'reported' && answer.result === 'completed')
    return { status: answer.status ?? 200, body: Buffer.alloc(0) }
  if (answer.kind !== 'answered') {
    const why = answer.kind === 'reported' ? (answer.note ?? answer.result) : answer.error
    throw new Error(`external target "${name}": ${why}`)
  }
  const { status, body, reply } = answer
  if (status >= 200 && status < 300 && reply === 'whole') return { status, body }
  const what = reply === 'whole' ? `answered ${status}` : `answered ${status}, but its reply is ${reply}`
  // The failure policy reads the status: 429 and 5xx are transient, other refusals are not.
  throw Object.assign(new Error(`external target "${name}" ${what}`), {
    status: reply === 'whole' ? status : 502,
  })
}
