// Runs on any Node from 20 on, with nothing installed yet: installs what the command needs, then hands
// over to Node 24 from the optional dependencies, which runs the TypeScript sources as they are.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { constants } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ensureInstalled } from './bootstrap/install.mjs'

const root = dirname(dirname(fileURLToPath(import.meta.url)))

const commands = {
  demo: { entry: 'examples/demo/main.ts', need: 'production' },
  cli: { entry: 'packages/onceward/src/cli/main.ts', need: 'production' },
  services: { entry: 'scripts/services/main.ts', need: 'production' },
  test: { entry: 'scripts/test.ts', need: 'everything' },
  cluster: { entry: 'scripts/test.ts', args: ['--cluster'], need: 'everything' },
  extended: { entry: 'scripts/test.ts', args: ['--extended'], need: 'everything' },
  crash: { entry: 'packages/onceward/test/crash/main.ts', need: 'everything' },
  chaos: { entry: 'chaos/main.ts', need: 'everything' },
  simulate: { entry: 'packages/onceward/test/simulator/main.ts', need: 'everything' },
  mutants: { entry: 'packages/onceward/test/mutants/main.ts', need: 'everything' },
  fuzz: { entry: 'packages/onceward/test/fuzz/main.ts', need: 'everything' },
  bench: { entry: 'bench/main.ts', need: 'everything' },
  check: { entry: 'scripts/check.ts', need: 'everything' },
  build: { entry: 'scripts/build.ts', need: 'everything' },
  reference: { entry: 'scripts/write-reference.ts', need: 'everything' },
}

function fail(message) {
  process.stderr.write(`${message}\n`)
  process.exit(1)
}

function findNode24() {
  const platform = process.platform === 'win32' ? 'win' : process.platform
  const name = process.platform === 'win32' ? 'node.exe' : 'node'
  const bundled = join(root, 'node_modules', `node-${platform}-${process.arch}`, 'bin', name)
  if (existsSync(bundled)) return bundled
  if (Number.parseInt(process.versions.node, 10) >= 24) return process.execPath
  return fail(
    `Onceward runs its sources on Node 24 or newer. This is Node ${process.versions.node}, and npm offers no ` +
      `Node 24 package for ${process.platform}-${process.arch}. Nothing was started. ` +
      'Install Node 24 (https://nodejs.org) and run the command again.',
  )
}

// Sources are TypeScript, stripped anew by every process: with Node's compile cache a start takes 0.6 s instead of 1.8,
// and tests and demo start hundreds.
function environmentFor(node) {
  const cache = process.env.NODE_COMPILE_CACHE ?? join(root, 'node_modules', '.cache', 'compiled')
  return {
    ...process.env,
    PATH: `${dirname(node)}${delimiter}${process.env.PATH}`,
    NODE_COMPILE_CACHE: cache,
  }
}

function handOver(node, entry, args) {
  const child = spawn(
    node,
    ['--conditions=@onceward/source', '--disable-warning=ExperimentalWarning', join(root, entry), ...args],
    { stdio: 'inherit', env: environmentFor(node) },
  )
  // A terminal sends Ctrl-C to the whole group, so the child already has it and forwarding would double it.
  process.on('SIGINT', () => process.stdin.isTTY || child.kill('SIGINT'))
  process.on('SIGTERM', () => child.kill('SIGTERM'))
  child.on('error', error => fail(`Could not start ${node}: ${error.message}. Nothing was started.`))
  child.on('exit', (code, signal) => process.exit(code ?? 128 + (constants.signals[signal] ?? 1)))
}

const [name, ...args] = process.argv.slice(2)
const command = Object.hasOwn(commands, name ?? '') ? commands[name] : undefined
if (!command) {
  fail(`Usage: node scripts/bootstrap.mjs <${Object.keys(commands).join('|')}> [arguments…]`)
}
if (!existsSync(join(root, command.entry))) fail(`${name}: ${command.entry} is not in this checkout.`)
// The pages of the console are built from their sources.
await ensureInstalled(root, args.includes('--console') ? 'everything' : command.need)
handOver(findNode24(), command.entry, [...(command.args ?? []), ...args])
