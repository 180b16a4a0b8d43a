#!/usr/bin/env node
import { spawn } from 'node:child_process'
import { dirname, extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

// `npx @onceward/console` is `onceward console`: one command, with one set of options.
const door = fileURLToPath(import.meta.resolve('onceward'))
const cli = join(dirname(door), 'cli', `main${extname(door)}`)
const child = spawn(process.execPath, [...process.execArgv, cli, 'console', ...process.argv.slice(2)], {
  stdio: 'inherit',
})
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => child.kill(signal))
child.on('exit', code => process.exit(code ?? 1))
