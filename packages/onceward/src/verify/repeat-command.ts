import type { VerifyOptions } from './verify-options.ts'

/** One fault on some lines of the samples. */
interface Found {
  readonly fault: string
  readonly lines: readonly number[]
}

/**
 * The command that repeats a failure; null: one that clean runs show. Samples, tables and rules that a test
 * passes as values cannot be written as a command, so for those it is the call with the options to add.
 */
export function repeatCommand(options: VerifyOptions, seed: number, found: Found | null): string {
  return isCall(options) ? callText(seed, found) : commandText(options, seed, found)
}

function isCall({ samples, prepare, invariants = {} }: VerifyOptions): boolean {
  const hasRule = Object.values(invariants).some(rule => typeof rule !== 'string')
  return Array.isArray(samples) || prepare !== undefined || hasRule
}

function callText(seed: number, found: Found | null): string {
  if (found === null) return `verifyConsumer({ ...options, seed: ${seed}, only: ['leak'] })`
  const { fault, lines } = found
  return `verifyConsumer({ ...options, seed: ${seed}, fault: '${fault}', lines: [${lines.join(', ')}] })`
}

function commandText(options: VerifyOptions, seed: number, found: Found | null): string {
  const {
    file,
    samples,
    capturedFrom,
    schema,
    migrate,
    policy,
    invariants = {},
    invariantsFile,
    allow = [],
  } = options
  const given: [string, string | undefined][] = [
    ['--samples', samples as string | undefined],
    ['--schema', schema],
    ['--migrate', migrate],
    ['--policy', policy],
    ...Object.values(invariants).map((text): [string, string] => ['--invariant', text as string]),
    ['--invariants', invariantsFile],
    ...allow.map((address): [string, string] => ['--allow', address]),
    ['--seed', String(seed)],
    ...(found === null
      ? [['--only', 'leak'] as [string, string]]
      : [
          ['--fault', found.fault] as [string, string],
          ['--lines', found.lines.join(',')] as [string, string],
        ]),
  ]
  const words = given.flatMap(([name, value]) => (value === undefined ? [] : [name, quoted(value)]))
  if (capturedFrom !== undefined) words.unshift('--captured')
  return ['onceward verify', quoted(file), ...words].join(' ')
}

/** As one word of a POSIX shell. */
function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}
