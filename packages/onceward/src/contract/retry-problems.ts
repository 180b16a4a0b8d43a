import { countHeaders, deathHeaders, levelQueue, retryHeader } from '../ports/retry-levels.ts'
import type { Report } from './check-values.ts'
import type { ConsumerContract } from './contract.ts'
import { failureRules } from './failure-rules.ts'
import { optionReader } from './options/defaults.ts'

/** Where each mode waits, and how many bytes a name has there at most. */
const places: Readonly<Record<string, { kind: string; what: string; nameBytesMax: number }>> = {
  'retry queue': { kind: 'rabbitmq', what: 'queues of RabbitMQ', nameBytesMax: 255 },
  'retry topic': { kind: 'kafka', what: 'topics of Kafka', nameBytesMax: 249 },
}

/** Retries by way of the broker: what they need, and what they would break. */
export function brokerRetryProblems(contract: ConsumerContract, mode: string, wrong: Report): void {
  const refuse = (why: string) => wrong('failure.mode', `'${mode}' ${why}`)
  const { kind, what } = places[mode]!
  if (contract.source?.kind !== kind)
    refuse(`waits in ${what}, which this source is not: use 'defer', which waits in the store`)
  if (contract.identity?.id === 'position')
    refuse("gives a message another position, so identity.id 'position' would make another message of it")
  if (optionReader(contract)('order') !== 'none')
    refuse(
      `brings a message back behind later ones, and order '${contract.order}' lets none pass: use 'defer' or 'block', or order 'none'`,
    )
  if (contract.dedup !== undefined && contract.dedup !== 'marker')
    refuse("needs dedup 'marker': a copy may come back twice, and only a marker tells the second")
  if (contract.settle?.when === 'before effect')
    refuse("brings back what settle.when 'before effect' gives up: leave one of the two out")
  if (contract.inbox?.mode === 'stored')
    refuse("is for messages the broker still has, and inbox.mode 'stored' takes them away: use 'defer'")
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
      wrong(place, `must be at least 1 with failure.mode '${mode}': each delay has a place of its own`)
  const named = (source ?? {}) as { queue?: unknown; topic?: unknown }
  const queue = named.queue ?? named.topic
  if (typeof queue !== 'string') return
  const longest = levelQueue(queue, failureRules(contract).retryLevelsMs.at(-1) ?? 0)
  const { what, nameBytesMax } = places[mode]!
  if (Buffer.byteLength(longest) > nameBytesMax)
    wrong('failure.mode', `'${mode}' would need the name ${longest}, longer than ${what} have`)
}

/** Those change on the way: a digest or an identity over them would make another message of each try. */
function headerProblems({ message, identity }: ConsumerContract, mode: string, wrong: Report): void {
  const changing = new Set([...deathHeaders, ...countHeaders, retryHeader])
  const why = `is written anew by each round of failure.mode '${mode}': leave it out`
  const listed = message !== undefined && 'digestHeaders' in message ? (message.digestHeaders ?? []) : []
  for (const name of Array.isArray(listed) ? listed : [])
    if (changing.has(name)) wrong('message.digestHeaders', `names ${name}, which ${why}`)
  for (const [name, from] of Object.entries(identity ?? {})) {
    const header = (from as { header?: unknown } | null)?.header
    if (typeof header === 'string' && changing.has(header))
      wrong(`identity.${name}`, `reads ${header}, which ${why}`)
  }
}
