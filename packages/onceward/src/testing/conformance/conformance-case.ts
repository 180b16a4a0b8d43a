import { describe, type TestContext, test } from 'node:test'

/** One sentence about behaviour, and a check of it. */
export interface ConformanceCase<Bench, Feature extends string> {
  readonly name: string
  /** The features that the case needs. */
  readonly needs?: readonly Feature[]
  readonly run: (bench: Bench) => Promise<void>
}

export interface ConformanceSuite<Bench, Feature extends string> {
  readonly name: string
  /** Why the whole suite cannot run here; printed. */
  readonly unavailable: string | undefined
  readonly cases: readonly ConformanceCase<Bench, Feature>[]
  /** A new bench for each case. */
  open(needs: readonly Feature[]): Promise<Bench>
  close(bench: Bench): Promise<void>
  /** Why the feature is missing; null when it is there. */
  missing(feature: Feature, bench: Bench): string | null
}

/** Generous: only a case that hangs waits for it. */
const caseTimeoutMs = 120_000

export function runConformance<Bench, Feature extends string>(suite: ConformanceSuite<Bench, Feature>): void {
  const options = suite.unavailable === undefined ? {} : { skip: suite.unavailable }
  describe(suite.name, options, () => {
    for (const one of suite.cases) test(one.name, { timeout: caseTimeoutMs }, t => runCase(t, suite, one))
  })
}

async function runCase<Bench, Feature extends string>(
  t: TestContext,
  suite: ConformanceSuite<Bench, Feature>,
  { needs = [], run }: ConformanceCase<Bench, Feature>,
): Promise<void> {
  const bench = await suite.open(needs)
  try {
    const reason = needs.map(feature => suite.missing(feature, bench)).find(missing => missing !== null)
    if (reason != null) return t.skip(reason)
    await run(bench)
  } finally {
    await suite.close(bench)
  }
}
