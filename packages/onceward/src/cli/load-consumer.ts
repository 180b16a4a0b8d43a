import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { errorText } from '../errors.ts'
import {
  type Consumer,
  type ConsumerContract,
  defineConsumer,
  OncewardError,
  type SqlTransaction,
} from '../index.ts'

/** The default export of a file, checked. Anything wrong is one error that names the file. */
export async function loadConsumer(file: string): Promise<Consumer<unknown, SqlTransaction>> {
  const path = resolve(file)
  if (!existsSync(path)) throw new OncewardError('usage', `There is no file ${file}. Nothing was started.`)
  let module: { default?: unknown }
  try {
    module = (await import(pathToFileURL(path).href)) as { default?: unknown }
  } catch (cause) {
    if (cause instanceof OncewardError) throw cause
    throw new OncewardError('usage', `${file} cannot be loaded: ${errorText(cause)}. Nothing was started.`, {
      cause,
    })
  }
  if (module.default === undefined) {
    throw new OncewardError(
      'usage',
      `${file} has no default export. Write "export default defineConsumer({ … })".`,
    )
  }
  const found = module.default as Consumer<unknown, SqlTransaction>
  const defined = Object.isFrozen(found) && found.batch !== undefined && found.failure !== undefined
  return defined ? found : defineConsumer(found as ConsumerContract<unknown, SqlTransaction>)
}
