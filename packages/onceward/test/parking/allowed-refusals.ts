import { OncewardError } from 'onceward'

/**
 * Refusals of operators' acts beside running workers: a row was finished, leased or moved between the preview
 * and the act. Others are failures of the test.
 */
const taken = [
  /^The selection has changed since it was shown\. /,
  /^Some of these rows do not exist or belong to another consumer\. /,
  /^Already being processed: row \d+\. /,
  /^There is no held work with id \d+; it may be done by now\. /,
  /^Row \d+ has changed since it was shown: /,
]
/** Refusals that the state of the row explains: it is not an error to ask. */
const notReleasable = [
  /^Row \d+ is (dead|quarantined): it is not safe to try it again automatically\. /,
  /^Row \d+ was not released: /,
]
/** The campaign's keys match nothing that is parked at this moment. */
const nothingToSelect = [/^No parked message matches the selection\. /]
export const allowedRefusals: readonly RegExp[] = [...taken, ...notReleasable, ...nothingToSelect]

/** The result of an act, or null where it was refused for one of these reasons. */
export async function unlessRefused<T>(work: Promise<T>, allowed = allowedRefusals): Promise<T | null> {
  try {
    return await work
  } catch (error) {
    if (error instanceof OncewardError && allowed.some(one => one.test(error.message))) return null
    throw error
  }
}
