/** A member as it joined: the topics it subscribes to and the partitions it reports as owned. */
export interface JoinedMember {
  readonly id: string
  readonly topics: readonly string[]
  readonly owned: readonly TopicPartitions[]
  /** The generation that assigned `owned`; -1 when there was none. */
  readonly generation: number
}

export interface TopicPartitions {
  readonly topic: string
  readonly partitions: readonly number[]
}

/**
 * Cooperative-sticky assignment by the group's leader. Each member keeps its partitions as far as that is
 * fair. A partition that must move stays unassigned until its holder has released it and joined again.
 * Deterministic. The client library's assignor leaves a new member without partitions when no member has more
 * than the average rounded up (4 partitions, members with 2, 2 and 0).
 */
export function assignPartitions(
  members: readonly JoinedMember[],
  partitionCounts: ReadonlyMap<string, number>,
): ReadonlyMap<string, readonly TopicPartitions[]> {
  const loads = new Map<string, Set<string>>()
  const sorted = [...members].sort((a, b) => (a.id < b.id ? -1 : 1))
  for (const { id } of sorted) loads.set(id, new Set())
  const holders = holdersOf(sorted)
  const slots = slotsOf(sorted, partitionCounts)
  const byId = new Map(sorted.map(member => [member.id, member]))

  for (const slot of slots) {
    const keeper = keeperOf(byId, holders.get(slot.name) ?? [], slot)
    if (keeper !== null) loads.get(keeper)!.add(slot.name)
  }
  const kept = new Set([...loads.values()].flatMap(names => [...names]))
  for (const slot of slots) {
    if (kept.has(slot.name)) continue
    const [least] = slot.eligible.toSorted((a, b) => loads.get(a)!.size - loads.get(b)!.size)
    loads.get(least!)!.add(slot.name)
  }
  level(loads, slots)
  return given(loads, slots, holders)
}

interface Slot {
  readonly name: string
  readonly topic: string
  readonly partition: number
  /** Ids of the members that subscribe to the topic; never empty. */
  readonly eligible: readonly string[]
}

function slotsOf(members: readonly JoinedMember[], counts: ReadonlyMap<string, number>): Slot[] {
  return [...counts].flatMap(([topic, count]) => {
    const eligible = members.filter(({ topics }) => topics.includes(topic)).map(({ id }) => id)
    if (eligible.length === 0) return []
    return Array.from({ length: count }, (_, partition) => ({
      name: nameOf(topic, partition),
      topic,
      partition,
      eligible,
    }))
  })
}

function holdersOf(members: readonly JoinedMember[]): Map<string, string[]> {
  const holders = new Map<string, string[]>()
  for (const { id, owned } of members) {
    for (const { topic, partitions } of owned) {
      for (const partition of partitions) {
        const name = nameOf(topic, partition)
        holders.set(name, [...(holders.get(name) ?? []), id])
      }
    }
  }
  return holders
}

/** The holder with the latest generation, if there is exactly one. */
function keeperOf(
  members: ReadonlyMap<string, JoinedMember>,
  holders: readonly string[],
  { eligible }: Slot,
): string | null {
  const latest = Math.max(...holders.map(id => members.get(id)!.generation))
  const latestHolders = holders.filter(id => members.get(id)!.generation === latest && eligible.includes(id))
  return latestHolders.length === 1 ? latestHolders[0]! : null
}

/**
 * Moves one partition at a time from the fullest to the emptiest eligible member, until the loads differ by
 * less than two.
 */
function level(loads: ReadonlyMap<string, Set<string>>, slots: readonly Slot[]): void {
  for (;;) {
    let best: { slot: Slot; from: string; to: string; difference: number } | null = null
    for (const slot of slots) {
      const from = slot.eligible.find(id => loads.get(id)!.has(slot.name))!
      for (const to of slot.eligible) {
        const difference = loads.get(from)!.size - loads.get(to)!.size
        if (difference >= 2 && difference > (best?.difference ?? 0)) best = { slot, from, to, difference }
      }
    }
    if (best === null) return
    loads.get(best.from)!.delete(best.slot.name)
    loads.get(best.to)!.add(best.slot.name)
  }
}

/** Leaves out partitions that another member still holds. */
function given(
  loads: ReadonlyMap<string, ReadonlySet<string>>,
  slots: readonly Slot[],
  holders: ReadonlyMap<string, readonly string[]>,
): Map<string, TopicPartitions[]> {
  const result = new Map<string, TopicPartitions[]>()
  for (const [id, names] of loads) {
    const free = slots.filter(
      ({ name }) => names.has(name) && (holders.get(name) ?? []).every(holder => holder === id),
    )
    const topics = new Set(free.map(({ topic }) => topic))
    result.set(
      id,
      [...topics].map(topic => ({
        topic,
        partitions: free.filter(slot => slot.topic === topic).map(({ partition }) => partition),
      })),
    )
  }
  return result
}

function nameOf(topic: string, partition: number): string {
  return `${topic}/${partition}`
}
