import type { MemoryMember } from './log-member.ts'

/**
 * The members that read a log together. Every join and leave starts a rebalance, one after the other. A
 * member that loses partitions releases them first, within a bounded time; then their new member gets them. A
 * member that hangs after that blocks no other.
 */
export class MemoryGroup {
  readonly #names: () => readonly string[]
  readonly #members: MemoryMember[] = []
  readonly committed = new Map<string, string>()
  #rebalancing: Promise<void> = Promise.resolve()

  constructor(names: () => readonly string[]) {
    this.#names = names
  }

  get members(): readonly MemoryMember[] {
    return this.#members
  }

  join(member: MemoryMember): void {
    this.#members.push(member)
    this.rebalance()
  }

  leave(member: MemoryMember): void {
    const index = this.#members.indexOf(member)
    if (index < 0) return
    this.#members.splice(index, 1)
    this.rebalance()
  }

  rebalance(): void {
    this.#rebalancing = this.#rebalancing.then(() => this.#reassign())
  }

  async #reassign(): Promise<void> {
    const shares = this.#share()
    await Promise.all([...shares].map(([member, partitions]) => member.keep(partitions)))
    // A member that joined or left meanwhile has a rebalance of its own in the queue.
    for (const [member, partitions] of shares) if (this.#members.includes(member)) member.assign(partitions)
  }

  /** Round robin, in order of joining. */
  #share(): Map<MemoryMember, Set<string>> {
    const shares = new Map(this.#members.map(member => [member, new Set<string>()]))
    if (this.#members.length === 0) return shares
    for (const [index, name] of this.#names().entries())
      shares.get(this.#members[index % this.#members.length]!)!.add(name)
    return shares
  }
}
