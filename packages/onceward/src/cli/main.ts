#!/usr/bin/env node
import { reportFailure } from './output.ts'
import { createProgram } from './program.ts'

try {
  await createProgram().parseAsync()
} catch (error) {
  process.exitCode = reportFailure(error, process.argv.includes('--json'))
}
