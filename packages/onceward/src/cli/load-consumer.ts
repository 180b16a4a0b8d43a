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
  type Store,
} from '../index.ts'

/** What a file exports as `store`: the consumer then runs in its transactions. */
export async function loadStore(file: string): Promise<LoadedStore | undefined> {
  const { store } = (await import(pathToFileURL(resolve(file)).href)) as { store?: LoadedStore }
  if (store === undefined || (typeof store?.transaction === 'function' && typeof store.enroll === 'function'))
    return store
  throw new OncewardError(
    'usage',
    `${file} exports a "store" that is none. Export what createPostgresStore, createKyselyStore, createDrizzleStore or createKnexStore gave, or take the export away.`,
  )
}

export type LoadedStore = Store<SqlTransaction> & { close?(): Promise<void> }

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
