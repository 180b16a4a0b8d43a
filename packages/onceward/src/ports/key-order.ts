export interface KeyOrderSession {
  /** Of these keys, those behind a parked message, or behind one that workers are working off. */
  blockedKeys(keys: readonly string[]): Promise<ReadonlyMap<string, BlockedKey>>
}

export interface BlockedKey {
  /** An operator released the key: workers process it until it is empty. */
  readonly released: boolean
  /** How many messages wait behind its head. */
  readonly waiting: number
}
