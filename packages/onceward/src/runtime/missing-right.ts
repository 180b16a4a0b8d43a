import { errorCode, OncewardError } from '../errors.ts'

const refusal = /^permission denied for (function|table|schema|sequence|view) (\S+)/

/**
 * A refused right, with the grant that is needed: `migrate --roles` makes a group role for processes, one for
 * operators and one for approvers. Every other error is returned unchanged.
 */
export function missingRight(error: unknown, command: string | undefined): unknown {
  if (!(error instanceof Error) || error instanceof OncewardError || errorCode(error) !== '42501')
    return error
  const [, what, name] = refusal.exec(error.message) ?? []
  if (name === undefined) return error
  return new OncewardError(
    'configuration',
    `The login of this session may not use ${what} ${name}. Nothing was changed. An owner of the schema runs "onceward migrate --roles" once, then: grant ${roleFor(name, command)} to <login>.`,
    { cause: error },
  )
}

function roleFor(name: string, command: string | undefined): string {
  if (name === 'approve' || name === 'approve_campaign') return 'onceward_approver'
  return command === 'run' || command === 'relay' ? 'onceward_run' : 'onceward_operator'
}
