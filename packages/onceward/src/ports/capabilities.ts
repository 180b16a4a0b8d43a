/** What a source can do. Contracts are checked against it before anything is opened. */
export interface SourceCapabilities {
  /** The orders a contract may declare on this source. */
  readonly order: { readonly key: boolean; readonly partition: boolean }
  /**
   * Order is kept only among deliveries with the same `key`, so a contract's order key must be that key; a
   * message with another order key is quarantined. Absent when the whole queue is in order and `key` is
   * something else, such as a routing key.
   */
  readonly ordersByDeliveryKey?: boolean
  /** Deliveries carry a lasting position (logs), rather than a channel-scoped tag (queues). */
  readonly positions: boolean
  /** The broker counts how often it delivered a message. */
  readonly deliveryCount: boolean
  /** Unsettled deliveries are redelivered after a crash, without an operator. */
  readonly redelivers: boolean
}

/** What a store can do. Contracts are checked against it before anything is opened. */
export interface StoreCapabilities {
  /** Acknowledged commits survive a kill of the server process. */
  readonly durable: boolean
  /** Two processes may use it at once. */
  readonly shared: boolean
  /** Handlers get a `query` function on their transaction. */
  readonly sql: boolean
  /**
   * Handlers of different lanes may work on one transaction at the same time. Otherwise the engine calls them
   * one after the other.
   */
  readonly concurrent: boolean
  /** Its sessions have `businessKeys`; contracts with `identity.businessKey` need it. */
  readonly businessKeys?: boolean
  /** Its sessions have `keyOrder`; contracts with `order: 'key'` need it. */
  readonly keyOrder?: boolean
  /** Its sessions have `outgoing`; contracts with targets or with retries at the broker need it. */
  readonly outgoing?: boolean
}
