import { storeErrors } from './store-error.ts'

/** A holder of locks, which may wait for others. */
export interface LockOwner {
  readonly locks: Set<string>
  waitsFor: LockOwner | null
  /** Called when the lock it waits for may be free. */
  resume(): void
}

/**
 * Exclusive row locks, held to the end of their transaction. A wait that would close a cycle fails instead.
 */
export class Locks {
  readonly #holders = new Map<string, LockOwner>()
  readonly #waiters = new Map<string, Set<LockOwner>>()

  /** False when it has to wait; its `resume` is called once the lock is free. */
  acquire(owner: LockOwner, name: string): boolean {
    const holder = this.#holders.get(name)
    if (holder === owner) return true
    if (holder === undefined) {
      this.#holders.set(name, owner)
      owner.locks.add(name)
      owner.waitsFor = null
      return true
    }
    for (let next: LockOwner | null = holder; next !== null; next = next.waitsFor) {
      if (next === owner) throw storeErrors.deadlock()
    }
    owner.waitsFor = holder
    const waiters = this.#waiters.get(name) ?? new Set()
    this.#waiters.set(name, waiters.add(owner))
    return false
  }

  forgetWait(owner: LockOwner): void {
    owner.waitsFor = null
    for (const waiters of this.#waiters.values()) waiters.delete(owner)
  }

  release(owner: LockOwner): void {
    this.forgetWait(owner)
    for (const name of owner.locks) {
      this.#holders.delete(name)
      const waiters = this.#waiters.get(name)
      if (waiters === undefined) continue
      this.#waiters.delete(name)
      for (const waiter of waiters) {
        waiter.waitsFor = null
        waiter.resume()
      }
    }
    owner.locks.clear()
  }
}
