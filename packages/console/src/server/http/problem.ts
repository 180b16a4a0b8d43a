/** A refusal that the API answers with its status. `message`: what happened, and that nothing was changed. */
export class Problem extends Error {
  readonly status: 400 | 401 | 403 | 404 | 409 | 413 | 421 | 429 | 503
  readonly code: string

  constructor(status: Problem['status'], code: string, message: string) {
    super(message)
    this.status = status
    this.code = code
  }
}

export const notSignedIn = () => new Problem(401, 'not_signed_in', 'Sign in first. Nothing was changed.')
export const notFound = (what: string) => new Problem(404, 'not_found', `${what} was not found.`)

/** For a read by id: that the row does not exist is answered like a row out of scope. */
export const missingAs = (missing: Problem) => (error: unknown) => {
  throw (error as { code?: string }).code === 'usage' ? missing : error
}
