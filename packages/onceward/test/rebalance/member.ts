import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Held, MemberOrders, Order } from './member-process.ts'

const program = fileURLToPath(new URL('member-process.ts', import.meta.url))

/** One process of the group, and what may happen to it. */
export class Member {
  readonly name: string
  readonly #process: ChildProcess
  readonly #ended: Promise<unknown>
  #stderr = ''

  constructor(orders: MemberOrders) {
    this.name = orders.name
    this.#process = spawn(process.execPath, ['--conditions=@onceward/source', program], {
      env: { ...process.env, MEMBER_ORDERS: JSON.stringify(orders) },
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    })
    this.#ended = once(this.#process, 'close')
    this.#process.stderr!.on('data', chunk => {
      this.#stderr = (this.#stderr + chunk).slice(-8_000)
    })
  }

  get stderr(): string {
    return this.#stderr
  }

  async running(): Promise<this> {
    await this.#heard(message => message === 'running')
    return this
  }

  /** Resolves once it stands in a handler, its write not committed. */
  holds(): Promise<Held> {
    return this.#caught('hold')
  }

  /** Holds, and is frozen there. When it is woken it learns first that its session is over. */
  async freezesInHandler(): Promise<Held> {
    const held = await this.#caught('hold')
    this.#process.kill('SIGSTOP')
    return held
  }

  /**
   * Freezes between its last write and the fence. When it is woken it commits, if it can, before it learns
   * anything.
   */
  freezesAtFence(): Promise<Held> {
    return this.#caught('freeze')
  }

  wake(): void {
    this.#process.kill('SIGCONT')
    this.#process.send('release' satisfies Order)
  }

  async kill(): Promise<void> {
    this.#process.kill('SIGKILL')
    await this.#ended
  }

  /** Drains and leaves in good order. */
  async leave(): Promise<void> {
    this.#process.kill('SIGTERM')
    await this.#ended
    assert.equal(this.#process.exitCode, 0, `${this.name} drains and leaves: ${this.#stderr}`)
  }

  #caught(order: Order): Promise<Held> {
    const held = this.#heard(message => typeof message === 'object')
    this.#process.send(order)
    return held as Promise<Held>
  }

  #heard(matches: (message: unknown) => boolean): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const listen = (message: unknown) => {
        if (!matches(message)) return
        this.#process.off('message', listen)
        resolve(message)
      }
      this.#process.on('message', listen)
      void this.#ended.then(() => reject(new Error(`${this.name} ended: ${this.#stderr}`)))
    })
  }
}
