import { setTimeout as wait } from 'node:timers/promises'
import { startTcpProxy, type TcpProxy } from '../../packages/onceward/test/proxy/tcp-proxy.ts'

export interface Target {
  host: string
  port: number
}

/** The connections of all consumers to one server, over one or more ports. Faults hurt them together. */
export class Link {
  readonly #proxies: readonly TcpProxy[]
  readonly #targets: readonly Target[]

  private constructor(proxies: readonly TcpProxy[], targets: readonly Target[]) {
    this.#proxies = proxies
    this.#targets = targets
  }

  /** The targets may be set later, when the servers have their ports. */
  static async open(targets: readonly Target[]): Promise<Link> {
    return new Link(await Promise.all(targets.map(target => startTcpProxy(target))), targets)
  }

  /** The address to give instead of that of the server. */
  through(url: string, index = 0): string {
    return this.#proxies[index]!.through(url)
  }

  port(index = 0): number {
    return this.#proxies[index]!.port
  }

  /** New connections lead elsewhere; the open ones end. */
  redirect(port: number, index = 0): void {
    this.#targets[index]!.port = port
    this.#proxies[index]!.cut()
  }

  cut(): void {
    for (const proxy of this.#proxies) proxy.cut()
  }

  /** Bytes pass in short bursts. */
  async slow(ms: number): Promise<void> {
    for (const end = performance.now() + ms; performance.now() < end; ) {
      for (const proxy of this.#proxies) proxy.pause()
      await wait(150)
      for (const proxy of this.#proxies) proxy.resume()
      await wait(15)
    }
  }

  /** Nothing passes and nothing is closed; at the end the connections are cut or continue. */
  async halfOpen(ms: number, thenCut: boolean): Promise<void> {
    for (const proxy of this.#proxies) proxy.pause()
    await wait(ms)
    if (thenCut) this.cut()
    for (const proxy of this.#proxies) proxy.resume()
  }

  /** The server hears everything and its answers are lost; then the connections are cut. */
  async loseReplies(ms: number): Promise<void> {
    for (const proxy of this.#proxies) proxy.toClient(() => null)
    await wait(ms)
    this.cut()
    for (const proxy of this.#proxies) proxy.toClient(null)
  }

  /** Connections are refused for a while. */
  async refuse(ms: number): Promise<void> {
    for (const proxy of this.#proxies) proxy.refuse()
    this.cut()
    await wait(ms)
    for (const proxy of this.#proxies) proxy.accept()
  }

  async close(): Promise<void> {
    await Promise.all(this.#proxies.map(proxy => proxy.close()))
  }
}
