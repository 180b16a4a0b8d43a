export type Suite = 'default' | 'fast' | 'extended' | 'cluster'

/** No broker, and nothing that takes more than a few seconds. */
const fast = /\/test\/(unit|simulator|policy|review|tidy\.test|conformance\/(memory|postgres)\.test)/

/**
 * Says whether a test file belongs to a suite. The default one has all but those that are too long for every
 * run.
 */
export function inSuite(suite: Suite, file: string): boolean {
  const cluster = file.endsWith('.cluster.test.ts')
  const extended = file.endsWith('.extended.test.ts')
  switch (suite) {
    case 'cluster':
      return cluster
    case 'extended':
      return cluster || extended
    case 'fast':
      return !cluster && !extended && fast.test(file)
    case 'default':
      return !cluster && !extended
  }
}
