#!/usr/bin/env node
import { databaseTrouble } from '../runtime/database-trouble.ts'
import { missingRight } from '../runtime/missing-right.ts'
import { isJsonWanted } from './from-environment.ts'
import { reportFailure } from './output.ts'
import { createProgram } from './program.ts'
import { interruptedStart } from './signals.ts'

try {
  const program = await createProgram(process.argv[2])
  await program.parseAsync()
} catch (error) {
  const allowed = missingRight(error, process.argv[2])
  const named = databaseTrouble(allowed, process.env.ONCEWARD_DATABASE_URL)
  process.exitCode = reportFailure(named, isJsonWanted(process.argv))
  // Clients that are still connecting would keep the process alive.
  if (interruptedStart() !== null) process.exit(interruptedStart())
}
