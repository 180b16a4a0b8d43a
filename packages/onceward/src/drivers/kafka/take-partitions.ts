import { OncewardError } from '../../errors.ts'
import type { LogOptions, OpenLoss, Position } from '../../ports/source.ts'
import { declaredAgain, goesBack, isDeclaredAt, stillLost, withdrawLossAt } from '../log/open-loss.ts'
import type { CommittedOffset, KafkaClient, Member, TopicFacts } from './client/kafka-client.ts'
import { confirmBounds } from './confirm-bounds.ts'
import { decidePosition, isWrittenAnew, type PartitionResume } from './loss.ts'
import type { TopicSettings } from './topic.ts'

/** An assigned partition and the decision where to resume it. */
export interface TakenPartition {
  readonly partition: number
  readonly name: string
  readonly epoch: number
  readonly incarnation: string
  /** The metadata that commits carry with the offset. */
  readonly metadata: string
  readonly decision: PartitionResume
  /** The partition was added to the topic after this group had begun. */
  readonly wasAdded: boolean
  readonly openLoss?: OpenLoss
  /** The age of the records shows that the log at the position of the open loss is the one that was read. */
  readonly isSameLog?: true
}

export interface TakeOptions {
  readonly client: KafkaClient
  readonly settings: TopicSettings
  readonly log: Pick<LogOptions, 'checkpoints' | 'progress'>
}

/**
 * Finds where to resume each partition. It reads the group's commits first, then the store, which ends the
 * ownership of earlier owners.
 */
export async function takePartitions(
  { client, settings, log }: TakeOptions,
  partitions: readonly number[],
  member: Member,
): Promise<readonly TakenPartition[]> {
  const facts = await client.describe()
  if (facts === null) throw new Error(`topic ${settings.topic} is gone`)
  const committed = await client.committed(partitions, member)
  const known = await groupOffsets(client, facts, partitions, committed, member)
  // A process that was frozen in between would end the ownership of the partitions' present readers.
  if (!member.live) throw new Error('no longer a member of the group')
  const names = new Map(partitions.map(partition => [partitionName(settings, partition), partition]))
  const ownerships = await log.checkpoints.take([...names.keys()])
  const expected = new Map(
    ownerships.map(({ partition, stored, resumeAt, openLoss }) => {
      const number = names.get(partition)!
      const lostAt = openLoss?.accepted && goesBack(openLoss) ? openLoss.from : null
      const known = [stored, resumeAt, lostAt].filter(one => one?.incarnation === facts.id)
      const ends = [committed.get(number)?.offset ?? 0, ...known.map(one => Number(one!.next))]
      return [
        number,
        { offset: Math.max(...ends), leaderEpoch: committed.get(number)?.leaderEpoch ?? -1 },
      ] as const
    }),
  )
  const bounds = await confirmBounds(client, expected)
  const starts = await startsOf(client, settings, partitions)
  const taken = ownerships.map(ownership => {
    const partition = names.get(ownership.partition)!
    const own = committed.get(partition) ?? null
    const decision = decidePosition({
      progress: log.progress,
      ownership,
      incarnation: facts.id,
      committed: own,
      bounds: bounds.get(partition)!,
      start: wasAdded(partition, known) ? bounds.get(partition)!.start : (starts?.get(partition) ?? null),
    })
    return {
      partition,
      name: ownership.partition,
      epoch: ownership.epoch,
      incarnation: facts.id,
      // Other clients leave the metadata empty, so this records the present number of partitions as the
      // beginning.
      metadata: own === null || own.metadata === '' ? writeMetadata(facts) : own.metadata,
      decision,
      wasAdded: wasAdded(partition, known),
      ...(ownership.openLoss !== undefined && { openLoss: ownership.openLoss }),
    }
  })
  return Promise.all(taken.map(one => withOpenLoss(client, one, log.progress)))
}

/**
 * Applies an open loss to the decision. Without a leader epoch, only the timestamps can show whether the log
 * at the position is the one that was read.
 */
async function withOpenLoss(
  client: KafkaClient,
  taken: TakenPartition,
  progress: LogOptions['progress'],
): Promise<TakenPartition> {
  const { name, incarnation, decision, openLoss } = taken
  if (openLoss === undefined || decision.kind === 'unstarted') return taken
  if (openLoss.accepted) return progress === 'only' ? behindAccepted(client, taken, openLoss) : taken
  if (decision.kind === 'lost') {
    const loss = declaredAgain(decision.loss, openLoss)
    const reason = isWrittenAnew(openLoss) ? openLoss.reason : loss.reason
    return { ...taken, decision: { kind: 'lost', loss: { ...loss, reason } } }
  }
  const position = { incarnation, next: String(decision.offset) }
  if (decision.leaderEpoch >= 0 || !isDeclaredAt(openLoss, position) || !goesBack(openLoss)) return taken
  if (await isWholeAgain(client, taken, openLoss)) return { ...taken, isSameLog: true }
  const { from, to, reason } = openLoss
  const loss = isWrittenAnew(openLoss)
    ? { partition: name, from, to, records: null, reason }
    : stillLost(name, openLoss)
  return { ...taken, decision: { kind: 'lost', loss } }
}

/**
 * Resumes behind an accepted loss, unless the log only seemed shorter than it is: then going back would apply
 * records twice. Only without markers: producers date their records, so records that took the place of ours
 * may be as old as ours, and markers recognise what is read again.
 */
async function behindAccepted(
  client: KafkaClient,
  taken: TakenPartition,
  openLoss: OpenLoss,
): Promise<TakenPartition> {
  const { incarnation, decision } = taken
  const { from } = openLoss
  if (decision.kind !== 'read' || from.incarnation !== incarnation || !goesBack(openLoss)) return taken
  if (!(await isWholeAgain(client, taken, openLoss))) return taken
  const resumed = { kind: 'read', offset: Number(from.next), leaderEpoch: -1, isNew: true } as const
  return { ...taken, isSameLog: true, decision: resumed }
}

/**
 * True when the log reaches the position of the loss again with records that are older than its declaration.
 * Younger ones are different from those that were read.
 */
async function isWholeAgain(
  client: KafkaClient,
  { partition }: TakenPartition,
  openLoss: OpenLoss,
): Promise<boolean> {
  if (isWrittenAnew(openLoss)) return false
  const since = await client.offsetsSince([partition], Math.floor(openLoss.declaredMs))
  return since.get(partition)! >= Number(openLoss.from.next)
}

/**
 * The offsets of the whole group, when one of these partitions has none. Pending offsets are ignored: members
 * that commit in transactions would never all be stable at once.
 */
async function groupOffsets(
  client: KafkaClient,
  facts: TopicFacts,
  partitions: readonly number[],
  committed: ReadonlyMap<number, CommittedOffset>,
  member: Member,
): Promise<ReadonlyMap<number, CommittedOffset>> {
  if (partitions.every(partition => committed.has(partition))) return committed
  const all = Array.from({ length: facts.partitions }, (_, partition) => partition)
  return client.committed(all, member, { pending: 'ignored' })
}

async function startsOf(
  client: KafkaClient,
  { start }: TopicSettings,
  partitions: readonly number[],
): Promise<ReadonlyMap<number, number> | null> {
  if (start === null) return null
  if (typeof start === 'object') return client.offsetsSince(partitions, start.timestampMs)
  const bounds = await client.bounds(partitions)
  return new Map(
    [...bounds].map(([partition, { start: first, end }]) => [partition, start === 'latest' ? end : first]),
  )
}

/**
 * Partitions added after this group had begun are read from their first record: `latest` would skip the
 * records written before the group noticed them. The metadata of the offsets contains the number of
 * partitions at the beginning.
 */
function wasAdded(partition: number, committed: ReadonlyMap<number, CommittedOffset>): boolean {
  for (const { metadata } of committed.values()) {
    const began = /^onceward partitions=(\d+)$/.exec(metadata)?.[1]
    if (began !== undefined && partition >= Number(began)) return true
  }
  return false
}

function writeMetadata({ partitions }: TopicFacts): string {
  return `onceward partitions=${partitions}`
}

export function partitionName({ topic }: Pick<TopicSettings, 'topic'>, partition: number): string {
  return `${topic}/${partition}`
}

/**
 * Commits the start of a partition to the broker, then stores it. From then on a missing position is a loss.
 * An accepted loss that did not happen is withdrawn first: `begin` would close it as read past.
 */
export async function beginPartition(
  { client, log }: TakeOptions,
  taken: TakenPartition,
  position: Position,
  member: Member,
): Promise<void> {
  const { partition, name, epoch, metadata, openLoss, isSameLog } = taken
  if (openLoss?.accepted && isSameLog)
    await withdrawLossAt(log.checkpoints, { partition: name, epoch, openLoss }, position, { isSameLog })
  const offset = { partition, offset: Number(position.next), leaderEpoch: -1, metadata }
  const answer = await client.commit([offset], member)
  if (answer.kind === 'refused') {
    throw new OncewardError(
      'configuration',
      `The broker refused the group's position for ${name}: ${answer.reason}. Nothing was delivered.`,
    )
  }
  if (answer.kind !== 'confirmed') throw new Error(`committing ${name}@${position.next}: ${answer.reason}`)
  await log.checkpoints.begin(name, epoch, position)
}

export function unstarted({ topic, group }: TopicSettings): OncewardError {
  return new OncewardError(
    'configuration',
    `Group ${group} has never read topic ${topic}, and the contract does not say where to begin. Nothing was read or committed. Write topic('${topic}', { start: 'earliest' }) to read all existing records, 'latest' for new records only, or { timestampMs } to begin at a time.`,
    { details: { topic, group } },
  )
}
