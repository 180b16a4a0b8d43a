/** The path of a source file that a requirement names, from the root of the repository. */
export const sourcePath = (file: string): string =>
  /^(docs|examples)\//.test(file) ? file : `packages/onceward/src/${file}`

/** The path of a test that a requirement names. Cases of the conformance suites are below `src/testing`. */
export function proofPath(file: string): string {
  if (file.startsWith('examples/')) return file
  return `packages/onceward/${file.startsWith('src/') ? file : `test/${file}`}`
}
