import type { VerifyOptions } from './verify-options.ts'

/** One fault on some lines of the samples, or everything with a larger budget. */
type Found = { readonly fault: string; readonly lines: readonly number[] } | { readonly budget: string }

/**
 * The command that repeats a failure; null: one that clean runs show. Samples, tables and rules that a test
 * passes as values cannot be written as a command, so for those it is the call with the options to add.
 */
export function repeatCommand(options: VerifyOptions, seed: number, found: Found | null): string {
  return isCall(options) ? callText(seed, found) : commandText(options, seed, found)
}

type Option = [name: string, value: string | undefined]

function isCall({ samples, prepare, invariants = {} }: VerifyOptions): boolean {
  const hasRule = Object.values(invariants).some(rule => typeof rule !== 'string')
  return Array.isArray(samples) || prepare !== undefined || hasRule
}

function callText(seed: number, found: Found | null): string {
  if (found === null) return `verifyConsumer({ ...options, seed: ${seed}, only: ['leak'] })`
  if ('budget' in found)
    return `verifyConsumer({ ...options, budgetMs: ${Number.parseInt(found.budget, 10)}_000 })`
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
  const given: Option[] = [
    ['--samples', samples as string | undefined],
    ['--schema', schema],
    ['--migrate', migrate],
    ['--policy', policy],
    ...Object.values(invariants).map((text): Option => ['--invariant', text as string]),
    ['--invariants', invariantsFile],
    ...allow.map((address): Option => ['--allow', address]),
    ['--seed', String(seed)],
    ...chosen(options, found),
  ]
  const words = given.flatMap(([name, value]) => (value === undefined ? [] : [name, quoted(value)]))
  if (capturedFrom !== undefined) words.unshift('--captured')
  return ['onceward verify', quoted(file), ...words].join(' ')
}

function chosen({ fault, only = [], skip = [], lines }: VerifyOptions, found: Found | null): Option[] {
  if (found === null) return [['--only', 'leak']]
  if ('fault' in found)
    return [
      ['--fault', found.fault],
      ['--lines', found.lines.join(',')],
    ]
  return [
    ...only.map((name): Option => ['--only', name]),
    ...skip.map((name): Option => ['--skip', name]),
    ['--fault', fault],
    ['--lines', lines?.join(',')],
    ['--budget', found.budget],
  ]
}

/** As one word of a POSIX shell. */
function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}
