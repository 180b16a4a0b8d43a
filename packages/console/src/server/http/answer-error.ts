import type { Context } from 'hono'
import { Problem } from './problem.ts'

const away = /^(ECONN|EPIPE|ENOTFOUND|EAI_|ETIMEDOUT|57P0|08)/
const retryAfterSeconds = '2'

/** Every error is one JSON object with a code and a sentence. Unknown errors keep their text in the log. */
export function answerError(error: Error, context: Context): Response {
  const { status, code, message } = describe(error)
  if (status === 503) context.header('retry-after', retryAfterSeconds)
  return context.json({ error: { code, message } }, status)
}

/** The database cannot be reached, or the connection was lost. */
export function isAway(error: unknown): boolean {
  const { code = '', message = '' } = error as { code?: string; message?: string }
  if (error instanceof Problem || code === 'usage') return false
  return away.test(code) || (code === '' && /connect|terminat|timeout/i.test(message))
}

function describe(error: Error): Pick<Problem, 'status' | 'code' | 'message'> {
  if (error instanceof Problem) return error
  const code = (error as { code?: string }).code ?? ''
  if (code === 'usage') return { status: 409, code: 'refused', message: error.message }
  if (code === '57014')
    return { status: 503, code: 'too_slow', message: 'The search took too long and was stopped. Narrow it.' }
  if (code === '42501') return { status: 403, code: 'database_rights', message: sentence(error.message) }
  if (isAway(error))
    return { status: 503, code: 'database_unavailable', message: 'The database does not answer. Try again.' }
  console.error(error)
  return { status: 503, code: 'unexpected', message: 'The console failed; its log has the error.' }
}

const sentence = (text: string) =>
  `${text.charAt(0).toUpperCase()}${text.slice(1).replace(/\.$/, '')}. Nothing was changed.`
