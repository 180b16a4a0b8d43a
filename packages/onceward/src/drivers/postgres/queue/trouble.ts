import { errorCode, errorText, OncewardError } from '../../../errors.ts'

/**
 * SQLSTATE classes that a retry cannot fix: rights, missing tables or database, wrong password, a rejected
 * statement.
 */
const configurationClasses = new Set(['0A', '21', '22', '28', '3D', '3F', '42'])

/** The error to halt with, or null if the server is merely unavailable. */
export function configurationTrouble(error: unknown, source: string): OncewardError | null {
  if (error instanceof OncewardError) return error
  const code = errorCode(error)
  if (!/^[0-9A-Z]{5}$/.test(code) || !configurationClasses.has(code.slice(0, 2))) return null
  const advice =
    code === '42P01' || code === '3F000'
      ? 'Run "onceward migrate".'
      : 'Check the role, its rights and the database.'
  return new OncewardError(
    'configuration',
    `${source}: ${errorText(error, 500)}. Nothing was settled and nothing is lost. ${advice}`,
    {
      cause: error,
    },
  )
}
