import assert from 'node:assert/strict'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { createPool } from 'onceward/postgres'
import { until } from 'onceward/testing'
import { type Block, blocksOf, root } from './pages.ts'
import { Terminal } from './terminal.ts'

const page = 'docs/tutorial.md'
const main = join(root, 'packages/onceward/src/cli/main.ts')
const nodeFlags = '--conditions=@onceward/source --disable-warning=ExperimentalWarning'

/**
 * Every command of the tutorial, in its order, in shells of its own. What stands in for `npm install` is the
 * source of this checkout; with ONCEWARD_TARBALL set to a packed package it is installed for real.
 */
describe('the tutorial', () => {
  test('is true from the first command to the last', { timeout: 300_000 }, async () => {
    await using cleanup = new AsyncDisposableStack()
    const home = mkdtempSync(join(tmpdir(), 'onceward-tutorial-'))
    cleanup.defer(() => rmSync(home, { recursive: true, force: true }))
    // For root the server is another user's: here it may keep its data in the project's folder, and nothing
    // is left elsewhere.
    chmodSync(home, 0o755)
    const folder = join(home, 'invoices')
    const env = environment(home)
    cleanup.defer(() => stopServer(folder, env))
    const first = new Terminal(home, env)
    cleanup.defer(() => first.close())
    const others: Terminal[] = []
    cleanup.defer(async () => void (await Promise.all(others.map(one => one.close()))))

    let printed = ''
    for (const block of blocksOf(page)) {
      if (block.language === 'ts') writeFile(folder, block)
      else if (block.language === 'text') assertPrinted(printed, block)
      else if (block.marks === 'terminal') {
        const other = new Terminal(folder, env)
        others.push(other)
        other.begin(block.code)
      } else {
        if (block.marks === 'settled') await settled(await first.type('echo $ONCEWARD_DATABASE_URL'))
        if (block.code.includes('redrive')) {
          // Without an address the same server is found by its folder, and left running for the consumer.
          await first.type('env -u ONCEWARD_DATABASE_URL npx onceward work list')
        }
        if (block.code.includes('stop')) await Promise.all(others.map(one => one.interrupt()))
        printed = await first.type(asHere(block.code, folder))
      }
    }
    assert.match(others[0]!.screen, /stopped: \{.*"duplicate":2.*\}, workers: \{"applied":2\}/)
  })
})

/** `npm install` in a checkout is a link to it. */
function asHere(code: string, folder: string): string {
  const tarball = process.env.ONCEWARD_TARBALL
  if (tarball !== undefined) return code.replace('npm install onceward ', `npm install ${tarball} `)
  if (!code.includes('npm install')) return code
  const modules = join(folder, 'node_modules')
  mkdirSync(modules, { recursive: true })
  symlinkSync(join(root, 'packages/onceward'), join(modules, 'onceward'))
  return code.replace('mkdir invoices && ', '').replace(/^npm install onceward .*$/m, '')
}

/** `npx` takes half a second to find out that the command is there. */
function environment(home: string): NodeJS.ProcessEnv {
  const { ONCEWARD_DATABASE_URL: _, ...given } = process.env
  // Others may serve metrics on this machine.
  const env: NodeJS.ProcessEnv = { ...given, ONCEWARD_METRICS_PORT: '0' }
  if (process.env.ONCEWARD_TARBALL !== undefined) return { ...env, NODE_OPTIONS: '' }
  const bin = join(home, 'bin')
  mkdirSync(bin)
  writeFileSync(join(bin, 'npx'), `#!/bin/sh\nshift\nexec ${process.execPath} ${main} "$@"\n`)
  chmodSync(join(bin, 'npx'), 0o755)
  return { ...env, PATH: `${bin}:${env.PATH}`, NODE_OPTIONS: nodeFlags }
}

function writeFile(folder: string, { code }: Block): void {
  const [, name, text] = /^\/\/ (\S+)\n([\s\S]*)$/.exec(code)!
  writeFileSync(join(folder, name!), text!)
}

/** Whatever became of the test: a server that was started is not left behind. */
async function stopServer(folder: string, env: NodeJS.ProcessEnv): Promise<void> {
  if (!existsSync(join(folder, '.onceward'))) return
  const shell = new Terminal(folder, env)
  await shell.type('node database.ts stop').finally(() => shell.close())
}

/** Nothing waits any more for anybody but people. */
async function settled(databaseUrl: string): Promise<void> {
  const pool = createPool(databaseUrl.trim(), { max: 1 })
  try {
    await until('everything that was sent or let go is taken', async () => {
      const { rows } = await pool.query(
        `select (select count(*) from onceward.queue_message)
              + (select count(*) from onceward.held where state = 'stored') as open`,
      )
      return Number(rows[0].open) === 0
    })
  } finally {
    await pool.end()
  }
}

/** Every line shown was printed, in that order; `…` stands for anything. */
function assertPrinted(printed: string, { code, line }: Block): void {
  const literal = (text: string) => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&').replaceAll(/ +/g, ' +')
  let rest = printed
  for (const shown of code.trimEnd().split('\n')) {
    const pattern = new RegExp(`^ *${shown.trim().split(/ *… */).map(literal).join('.*')}\\s*$`, 'm')
    const found = pattern.exec(rest)
    assert.ok(found, `${page}:${line} shows "${shown}", but the commands printed\n${printed}`)
    rest = rest.slice(found.index + found[0].length)
  }
}
