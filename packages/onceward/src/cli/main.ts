#!/usr/bin/env node
import { databaseTrouble } from '../runtime/database-trouble.ts'
import { reportFailure } from './output.ts'
import { createProgram } from './program.ts'
import { interruptedStart } from './signals.ts'

try {
  const program = await createProgram(process.argv[2])
  await program.parseAsync()
} catch (error) {
  const named = databaseTrouble(error, process.env.ONCEWARD_DATABASE_URL)
  process.exitCode = reportFailure(named, process.argv.includes('--json'))
  // Clients that are still connecting would keep the process alive.
  if (interruptedStart() !== null) process.exit(interruptedStart())
}
