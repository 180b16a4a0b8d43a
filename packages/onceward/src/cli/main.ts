#!/usr/bin/env node
import { createProgram } from './program.ts'
import { reportFailure } from './output.ts'

try {
  await createProgram().parseAsync()
} catch (error) {
  process.exitCode = reportFailure(error, process.argv.includes('--json'))
}
