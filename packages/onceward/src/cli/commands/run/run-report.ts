type Counts = Readonly<Record<string, number>>

/** The final counts of a process: of its reader and of its workers. */
export interface RunReport {
  readonly outcomes?: Counts
  readonly worked?: Counts
  readonly [more: string]: unknown
}

export function reportText({ outcomes = {}, worked }: RunReport): string {
  return `stopped: ${JSON.stringify(outcomes)}${worked ? `, workers: ${JSON.stringify(worked)}` : ''}`
}

/** What is counted is added up over the processes. The rest is the state of one process and is left out. */
export function sumReports(reports: readonly RunReport[]): RunReport {
  if (reports.length === 1) return reports[0]!
  const worked = reports.map(report => report.worked).filter(counts => counts !== undefined)
  return {
    outcomes: sum(reports.map(report => report.outcomes ?? {})),
    ...(worked.length > 0 && { worked: sum(worked) }),
  }
}

function sum(all: readonly Counts[]): Counts {
  const total: Record<string, number> = {}
  for (const counts of all)
    for (const [name, count] of Object.entries(counts)) total[name] = (total[name] ?? 0) + count
  return total
}
