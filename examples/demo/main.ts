import { OncewardError } from 'onceward'
import { demoCommand } from './command.ts'

const json = process.argv.includes('--json')
try {
  await demoCommand().parseAsync()
} catch (error) {
  const known = error instanceof OncewardError
  const text = known ? error.message : error instanceof Error ? error.stack! : String(error)
  if (json) process.stdout.write(`${JSON.stringify({ ok: false, error: text })}\n`)
  else process.stderr.write(`error ${text}\n`)
  process.exitCode = known && error.code === 'usage' ? 2 : 1
}
