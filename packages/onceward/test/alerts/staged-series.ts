/** A series that a test against real servers sees above zero. */
export type StagedSeries = readonly [name: string, labels: Readonly<Record<string, string>>]
