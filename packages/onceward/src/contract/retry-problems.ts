import { countHeaders, deathHeaders, levelQueue, retryHeader } from '../ports/retry-levels.ts'
import type { Report } from './check-values.ts'
import type { ConsumerContract } from './contract.ts'
import { failureRules } from './failure-rules.ts'
import { optionReader } from './options/defaults.ts'

/** Where each mode keeps waiting messages, and the longest name there in bytes. */
const places: Readonly<Record<string, { kind: string; what: string; nameBytesMax: number }>> = {
  'retry queue': { kind: 'rabbitmq', what: 'queues of RabbitMQ', nameBytesMax: 255 },
  'retry topic': { kind: 'kafka', what: 'topics of Kafka', nameBytesMax: 249 },
}

/** What retries through the broker need, and what they would break. */
export function brokerRetryProblems(contract: ConsumerContract, mode: string, wrong: Report): void {
  const refuse = (why: string) => wrong('failure.mode', `'${mode}' ${why}`)
  const { kind, what } = places[mode]!
  if (contract.source?.kind !== kind)
    refuse(`waits in ${what}, and this source is another kind: use 'defer', which waits in the store`)
  if (contract.identity?.id === 'position')
    refuse("changes the position, so identity.id 'position' would make it another message")
  if (optionReader(contract)('order') !== 'none')
    refuse(
      `returns a message behind later ones, which order '${contract.order}' forbids: use 'defer' or 'block', or order 'none'`,
    )
  if (contract.dedup !== undefined && contract.dedup !== 'marker')
    refuse("needs dedup 'marker': a copy may return twice, and only a marker recognises the second")
  if (contract.settle?.when === 'before effect')
    refuse("retries messages that settle.when 'before effect' gives up: remove one of the two")
  if (contract.inbox?.mode === 'stored')
    refuse("is for messages still at the broker, and inbox.mode 'stored' removes them there: use 'defer'")
  headerProblems(contract, mode, wrong)
  levelProblems(contract, mode, wrong)
}

function levelProblems(contract: ConsumerContract, mode: string, wrong: Report): void {
  const { failure = {}, source } = contract
  const delays = [
    ['failure.delayMs', failure.delayMs],
    ...Object.entries(failure.policies ?? {}).map(
      ([name, policy]) => [`failure.policies.${name}.delayMs`, policy?.delayMs] as const,
    ),
  ] as const
  for (const [place, delayMs] of delays)
    if (delayMs === 0)
      wrong(place, `must be at least 1 with failure.mode '${mode}': each delay has its own queue or topic`)
  const named = (source ?? {}) as { queue?: unknown; topic?: unknown }
  const queue = named.queue ?? named.topic
  if (typeof queue !== 'string') return
  const longest = levelQueue(queue, failureRules(contract).retryLevelsMs.at(-1) ?? 0)
  const { what, nameBytesMax } = places[mode]!
  if (Buffer.byteLength(longest) > nameBytesMax)
    wrong('failure.mode', `'${mode}' would need the name ${longest}, too long for ${what}`)
}

/**
 * These headers change with every retry: a digest or identity over them would make each retry another
 * message.
 */
function headerProblems({ message, identity }: ConsumerContract, mode: string, wrong: Report): void {
  const changing = new Set([...deathHeaders, ...countHeaders, retryHeader])
  const why = `changes with every retry of failure.mode '${mode}': remove it`
  const listed = message !== undefined && 'digestHeaders' in message ? (message.digestHeaders ?? []) : []
  for (const name of Array.isArray(listed) ? listed : [])
    if (changing.has(name)) wrong('message.digestHeaders', `lists ${name}, which ${why}`)
  for (const [name, from] of Object.entries(identity ?? {})) {
    const header = (from as { header?: unknown } | null)?.header
    if (typeof header === 'string' && changing.has(header))
      wrong(`identity.${name}`, `reads ${header}, which ${why}`)
  }
}
