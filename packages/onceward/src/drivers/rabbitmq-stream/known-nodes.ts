/** How long a node that could not serve us is passed over for others. */
const avoidMs = 60_000

/**
 * The nodes that have our streams, as `host:port`, and which of them could not serve us lately. A node that
 * is cut off from the others still takes connections (RabbitMQ 4.3, and 4.0 unless it pauses minorities) but
 * serves no stream: whoever knows only its address goes on by another.
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

  /** Trouble there that another node may not have. */
  failed(node: string): void {
    this.#failedMs.set(node, this.#nowMs())
  }

  served(node: string): void {
    this.#failedMs.delete(node)
  }

  get all(): readonly string[] {
    return [...this.#nodes]
  }

  /**
   * To enter by before the address is tried: none while all is well, and none once each has failed, which
   * begins the round anew.
   */
  takeDetours(): readonly string[] {
    const others = this.#serving(this.all)
    if (others.length === 0) this.#failedMs.clear()
    return others.length === this.#nodes.size ? [] : others
  }

  /** Those of them that did not fail lately; all where each did. */
  preferred(nodes: readonly string[]): readonly string[] {
    const serving = this.#serving(nodes)
    return serving.length > 0 ? serving : nodes
  }

  #serving(nodes: readonly string[]): readonly string[] {
    const since = this.#nowMs() - avoidMs
    return nodes.filter(node => (this.#failedMs.get(node) ?? since) <= since)
  }
}
