import { OncewardError } from '../errors.ts'

/** Failures of one schema, in a row, after which it and not the registry may be at fault. */
const failuresMax = 5
/** Answers about who asks, and how often; not about a schema. */
const otherStatuses: readonly unknown[] = [401, 403, 429]
const unconnected: readonly unknown[] = [
  ...['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH'],
  ...['ETIMEDOUT', 'UND_ERR_CONNECT_TIMEOUT', 'UND_ERR_SOCKET'],
]

/** Failures by schema, in a row. The oldest schema is forgotten first: senders choose the ids. */
export class RefusedRefs {
  readonly #schemasMax: number
  readonly #failures = new Map<string, number>()

  constructor(schemasMax: number) {
    this.#schemasMax = schemasMax
  }

  /** Counts a failure that may be of the schema. True if there were enough of them. */
  add(key: string, error: unknown): boolean {
    if (isOfAll(error)) return false
    const failures = (this.#failures.get(key) ?? 0) + 1
    this.#failures.delete(key)
    this.#failures.set(key, failures)
    if (this.#failures.size > this.#schemasMax) this.#failures.delete(this.#failures.keys().next().value!)
    return failures >= failuresMax
  }

  delete(key: string): void {
    this.#failures.delete(key)
  }
}

/** True for a refused login, too many requests, and no connection. */
function isOfAll(error: unknown): boolean {
  if (error instanceof OncewardError && otherStatuses.includes(error.details.status)) return true
  let at = error
  for (let depth = 0; at instanceof Error && depth < 10; depth++) {
    if (unconnected.includes((at as { code?: unknown }).code)) return true
    at = at.cause
  }
  return false
}
