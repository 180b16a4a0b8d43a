import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync, realpathSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { withExclusiveLock } from './exclusive-lock.mjs'
import { installArguments, missingPackages } from './install-need.mjs'

const say = text => process.stderr.write(`${text}\n`)

function readJson(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return undefined
  }
}

function currentPlatform() {
  const libc = process.report?.getReport().header.glibcVersionRuntime ? 'glibc' : 'musl'
  return { os: process.platform, cpu: process.arch, libc: process.platform === 'linux' ? libc : undefined }
}

function missing(root, need) {
  const lock = readJson(join(root, 'package-lock.json'))
  if (!lock) throw new Error('package-lock.json is missing or unreadable: restore it from git and run again')
  return missingPackages(
    lock,
    readJson(join(root, 'node_modules', '.package-lock.json')),
    need,
    currentPlatform(),
  )
}

function runNpm(root, args) {
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm'
  const child = spawn(npm, args, {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    shell: process.platform === 'win32',
  })
  let output = ''
  const keep = chunk => {
    output += chunk
  }
  child.stdout.on('data', keep)
  child.stderr.on('data', keep)
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', code => resolve({ code, output }))
  })
}

async function install(root, need) {
  const count = missing(root, need).length
  if (count === 0) return
  const started = Date.now()
  say(
    `Installing ${count} npm packages (${need === 'production' ? 'runtime only' : 'with the development tools'}) …`,
  )
  const { code, output } = await runNpm(root, installArguments(need))
  if (code !== 0) {
    say(output)
    say('npm ci failed (its output is above). Nothing was started; fix the cause and run the command again.')
    process.exit(1)
  }
  say(`Installed in ${((Date.now() - started) / 1000).toFixed(1)} s.`)
}

/** Two commands started at once in one clone must not run npm ci twice: it deletes node_modules first. */
export async function ensureInstalled(root, need) {
  if (missing(root, need).length === 0) return
  const clone = createHash('sha256').update(realpathSync(root)).digest('hex').slice(0, 16)
  // Not inside node_modules, which npm ci removes.
  const lock = join(tmpdir(), `onceward-install-${userInfo().username}-${clone}.lock`)
  await withExclusiveLock(
    lock,
    () => install(root, need),
    pid => say(`Another command (process ${pid}) is installing; waiting …`),
  )
}
