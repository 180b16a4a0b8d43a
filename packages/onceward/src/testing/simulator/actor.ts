/**
 * One incarnation of a simulated process, as the outside sees it: alive ⇄ frozen, either ──▶ dead. Answers
 * that arrive while it is frozen wait in its mailbox; those that arrive once it is dead are lost.
 */
export class Actor {
  readonly number: number
  readonly name: string
  #state: 'alive' | 'frozen' | 'dead' = 'alive'
  #mailbox: (() => void)[] = []

  constructor(number: number, name: string) {
    this.number = number
    this.name = name
  }

  get state(): 'alive' | 'frozen' | 'dead' {
    return this.#state
  }

  hear(callback: () => void): void {
    if (this.#state === 'alive') callback()
    else if (this.#state === 'frozen') this.#mailbox.push(callback)
  }

  freeze(): void {
    if (this.#state === 'alive') this.#state = 'frozen'
  }

  thaw(): void {
    if (this.#state !== 'frozen') return
    this.#state = 'alive'
    const missed = this.#mailbox
    this.#mailbox = []
    for (const callback of missed) callback()
  }

  die(): void {
    this.#state = 'dead'
    this.#mailbox = []
  }
}
