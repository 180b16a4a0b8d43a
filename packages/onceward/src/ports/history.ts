export interface HistorySession {
  /**
   * Markers of messages made before `purgedBeforeMs` are gone; null when none are. `keepMs`: the retention of
   * markers that a process declared last; null when none did. `nowMs`: the database's time. Times since 1970.
   */
  horizon(): Promise<{
    readonly purgedBeforeMs: number | null
    readonly keepMs: number | null
    readonly nowMs: number
  }>

  /**
   * The messages that people gave up under other generations of the consumer. Absent in campaigns, and where
   * no other generation existed when the run began.
   */
  readonly givenUpElsewhere?: FindGivenUp | undefined
}

/** Of these messages, those that people gave up: the index in the list, with the reason they gave. */
export type FindGivenUp = (
  messages: readonly { readonly id: string | null; readonly digest: Buffer }[],
) => Promise<ReadonlyMap<number, string>>
