import { OncewardError } from '../../errors.ts'
import { exactJson } from '../../message/exact-json.ts'
import type { Received } from '../../message/received.ts'
import type { EvidenceNote } from '../../ports/evidence.ts'
import type { StoreSession } from '../../ports/store-session.ts'
import type { ConsumerContext } from '../consumer-context.ts'
import type { Requested } from './buffer-effects.ts'
import { type Fact, isApplied } from './outcome.ts'

const nameMax = 100
const detailMax = 4_000

/** Throws a TypeError that names the problem if it cannot be stored. */
export function evidenceNote(messageId: string, name: string, detail: unknown): EvidenceNote {
  const wrong = (why: string) => new TypeError(`effects.evidence(${JSON.stringify(name)}): ${why}`)
  if (typeof name !== 'string' || name === '' || name.length > nameMax)
    throw wrong(`the name must be text of 1 to ${nameMax} characters`)
  const text = typeof detail === 'string' ? detail : exactJson(detail)
  if (text === undefined) throw wrong(`a detail of ${typeof detail} cannot be written as JSON`)
  if (text.length > detailMax)
    throw wrong(`the detail has ${text.length} characters, at most ${detailMax} fit`)
  for (const part of [name, text])
    if (part.includes('\0') || !part.isWellFormed()) throw wrong('it must be well-formed text without NUL')
  return { messageId, name, detail: text }
}

export function noEvidence<M, Tx>({ consumer }: ConsumerContext<M, Tx>): OncewardError {
  return new OncewardError(
    'configuration',
    `The handler of ${consumer.name} uses evidence of markers, but its store keeps none. Nothing was committed.`,
  )
}

/** Writes all evidence of the round in one statement. */
export async function flushEvidence<M, Tx>(
  requested: Requested<M>['evidence'],
  facts: ReadonlyMap<Received<M>, Fact>,
  session: StoreSession<Tx>,
): Promise<void> {
  const due = requested.filter(({ received }) => isApplied(facts.get(received)))
  if (due.length > 0) await session.evidence!.note(due.map(({ note }) => note))
}
