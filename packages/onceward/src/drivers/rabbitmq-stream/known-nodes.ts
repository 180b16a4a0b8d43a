/** How long a node that could not serve a stream is avoided in favour of others. */
const avoidMs = 60_000

/**
 * The nodes of the streams, as `host:port`, and which of them failed recently. A node that lost contact with
 * the others still accepts connections (RabbitMQ 4.3, and 4.0 unless it pauses minorities) but serves no
 * stream. A client that knows only its address then connects through another node.
 */
export class KnownNodes {
  readonly #nodes = new Set<string>()
  readonly #failedMs = new Map<string, number>()
  readonly #nowMs: () => number

  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs
  }

  add(nodes: readonly string[]): void {
    for (const node of nodes) this.#nodes.add(node)
  }

  /** A failure that another node may not have. */
  failed(node: string): void {
    this.#nodes.add(node)
    this.#failedMs.set(node, this.#nowMs())
  }

  served(node: string): void {
    this.#failedMs.delete(node)
  }

  get all(): readonly string[] {
    return [...this.#nodes]
  }

  /**
   * Nodes to connect to before the address: none while no node failed, and none once each has failed, which
   * starts over.
   */
  takeDetours(): readonly string[] {
    const others = this.#serving(this.all)
    if (others.length === 0) this.#failedMs.clear()
    return others.length === this.#nodes.size ? [] : others
  }

  /** The nodes that did not fail recently; all when each did. */
  preferred(nodes: readonly string[]): readonly string[] {
    const serving = this.#serving(nodes)
    return serving.length > 0 ? serving : nodes
  }

  #serving(nodes: readonly string[]): readonly string[] {
    const since = this.#nowMs() - avoidMs
    return nodes.filter(node => (this.#failedMs.get(node) ?? since) <= since)
  }
}
