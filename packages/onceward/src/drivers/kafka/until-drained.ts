import { setTimeout as sleep } from 'node:timers/promises'
import { errorText } from '../../errors.ts'
import type { KafkaClient, Member } from './client/kafka-client.ts'

export interface DrainOptions {
  readonly client: Pick<KafkaClient, 'describe' | 'bounds' | 'committed'>
  readonly member: Member
  /** The partition that waits. */
  readonly partition: number
  readonly limitMs: number
  /** False once the partition is no longer assigned to this member. */
  readonly waits: () => boolean
  /** Called once for each reason. */
  readonly onTrouble: (reason: string) => void
}

/**
 * `drained`: all earlier records are done. `late`: the time limit has passed; `behind` is the last known
 * result, empty when no look succeeded. `gone`: the partition is no longer assigned to this member.
 */
export type Drained =
  | { readonly kind: 'drained' | 'gone' }
  | { readonly kind: 'late'; readonly behind: readonly number[] }

const lookMs = 300

/**
 * Waits until the group has committed everything written to its begun partitions before this one was found.
 * Records of a key that moved to the new partition follow those records. Every member determines this
 * independently from the group's offsets. Messages that are set aside count as done, as they do for the
 * offsets.
 */
export async function untilDrained(options: DrainOptions): Promise<Drained> {
  const { member, limitMs, waits, onTrouble } = options
  const endMs = performance.now() + limitMs
  const reported = new Set<string>()
  let targets: ReadonlyMap<number, number> | null = null
  let behind: readonly number[] = []
  for (;;) {
    if (!waits() || !member.live) return { kind: 'gone' }
    try {
      targets ??= await findTargets(options)
      behind = await findBehind(options, targets)
      if (behind.length === 0) return { kind: 'drained' }
    } catch (error) {
      const reason = errorText(error, 300)
      if (!reported.has(reason)) onTrouble(reason)
      reported.add(reason)
    }
    if (performance.now() >= endMs) return { kind: 'late', behind }
    await sleep(lookMs)
  }
}

async function findTargets({
  client,
  member,
  partition,
}: DrainOptions): Promise<ReadonlyMap<number, number>> {
  const facts = await client.describe()
  if (facts === null) throw new Error('the topic is gone')
  const others = Array.from({ length: facts.partitions }, (_, other) => other).filter(
    other => other !== partition,
  )
  const begun = await client.committed(others, member, { pending: 'ignored' })
  const bounds = await client.bounds([...begun.keys()])
  return new Map([...bounds].map(([other, { end }]) => [other, end]))
}

async function findBehind(
  { client, member }: DrainOptions,
  targets: ReadonlyMap<number, number>,
): Promise<number[]> {
  const committed = await client.committed([...targets.keys()], member, { pending: 'ignored' })
  return [...targets]
    .filter(([other, end]) => (committed.get(other)?.offset ?? 0) < end)
    .map(([other]) => other)
}
