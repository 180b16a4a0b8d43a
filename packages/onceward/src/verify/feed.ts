import { randomNumbers } from './child/handler-environment.ts'
import type { Described } from './child/orders.ts'
import type { Fault } from './fault.ts'

/** A message as it is published. */
export interface FedMessage {
  readonly line: number
  readonly body: Buffer
  readonly headers: Readonly<Record<string, unknown>>
  readonly properties: Readonly<Record<string, unknown>>
  /** The order key, where the contract has one; else the broker key of the sample. */
  readonly key: string | null
  readonly described: Described
}

/** What is published in one run: at first, and after all of that was decided. */
export interface Feed {
  readonly first: readonly FedMessage[]
  readonly after: readonly FedMessage[]
}

/** The messages of a run under a fault. Pure. */
export function feedOf(
  fault: Pick<Fault, 'class' | 'number'> | null,
  messages: readonly FedMessage[],
  { seed, byKey }: { readonly seed: number; readonly byKey: boolean },
): Feed {
  const all = { first: messages, after: [] }
  switch (fault?.class) {
    case 'twice':
      return { ...all, first: messages.flatMap(message => [message, message]) }
    case 'late':
      return { first: messages, after: messages }
    case 'order':
      return { ...all, first: permuted(messages, seed + fault.number, fault.number === 1, byKey) }
    case 'conflict':
      return { first: messages, after: replaced(messages, ({ conflict }) => conflict) }
    case 'resent':
      return { first: messages, after: replaced(messages, ({ resent }) => resent) }
    case 'poison':
      return { ...all, first: withPoison(messages) }
    default:
      return all
  }
}

function replaced(
  messages: readonly FedMessage[],
  pick: (described: Described) => string | null,
): FedMessage[] {
  return messages.flatMap(message => {
    const body = pick(message.described)
    return body === null ? [] : [{ ...message, body: Buffer.from(body, 'base64') }]
  })
}

/** Reversed, or shuffled; messages of one key keep their order where the contract orders by key. */
function permuted(
  messages: readonly FedMessage[],
  seed: number,
  reversed: boolean,
  byKey: boolean,
): FedMessage[] {
  const shuffled = reversed ? messages.toReversed() : shuffle(messages, randomNumbers(seed))
  if (!byKey) return shuffled
  const keys = new Map<string | null, FedMessage[]>()
  for (const message of messages) keys.set(message.key, [...(keys.get(message.key) ?? []), message])
  return shuffled.map(({ key }) => keys.get(key)!.shift()!)
}

export function shuffle<T>(items: readonly T[], random: () => number): T[] {
  const mixed = [...items]
  for (let at = mixed.length - 1; at > 0; at--) {
    const other = Math.floor(random() * (at + 1))
    ;[mixed[at], mixed[other]] = [mixed[other]!, mixed[at]!]
  }
  return mixed
}

/** Broken bytes, JSON of another shape, and no bytes at all. */
const poison: readonly string[] = ['{"broken":', '[]', '', '\u0000\u0001']

function withPoison(messages: readonly FedMessage[]): FedMessage[] {
  const spread: FedMessage[] = []
  for (const [index, message] of messages.entries()) {
    const bytes = poison[index % poison.length]!
    spread.push({ ...message, body: Buffer.from(bytes), headers: {}, properties: {}, key: null }, message)
  }
  return spread
}
