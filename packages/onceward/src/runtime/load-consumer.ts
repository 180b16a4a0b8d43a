import { existsSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { ConsumerContract } from '../contract/contract.ts'
import { type Consumer, defineConsumer } from '../contract/define-consumer.ts'
import { defineTransform, isTransform, type Transform } from '../contract/define-transform.ts'
import type { SqlTransaction } from '../contract/handler.ts'
import { loadPolicy, policyFileName, shownPath } from '../contract/policy/load-policy.ts'
import type { Policy } from '../contract/policy/read-policy.ts'
import { type ConsumerParts, withPolicy } from '../contract/policy/with-policy.ts'
import type { TransformContract } from '../contract/transform-contract.ts'
import { errorText, OncewardError } from '../errors.ts'
import type { Store } from '../ports/store.ts'

/** The export `store` of a file. The consumer runs in the transactions of that store. */
export async function loadStore(file: string): Promise<LoadedStore | undefined> {
  const { store } = (await import(pathToFileURL(resolve(file)).href)) as { store?: LoadedStore }
  if (store === undefined || (typeof store?.transaction === 'function' && typeof store.enroll === 'function'))
    return store
  throw new OncewardError(
    'usage',
    `${file} exports a "store" that is not a store. Export the result of createPostgresStore, createKyselyStore, createDrizzleStore or createKnexStore, or remove the export.`,
  )
}

export type LoadedStore = Store<SqlTransaction> & { close?(): Promise<void> }

export const policyHelp = 'the policy file. Default ONCEWARD_POLICY, else onceward.yaml beside the consumer'

export interface LoadOptions {
  /**
   * A policy file by name. Default `ONCEWARD_POLICY`, else `onceward.yaml` beside the consumer's file, if
   * there is one.
   */
  readonly policy?: string | undefined
  /** The policy file, if it was already read; null for none. Many consumers may share one. */
  readonly loaded?: Policy | null | undefined
  /** The consumer is not started: environment variables may be missing. */
  readonly looking?: boolean
}

/** A consumer, or a Kafka transform. */
export type Loaded = Consumer<unknown, SqlTransaction> | Transform

/**
 * The default export of a file, with its policy file, validated. Every problem is one error that names the
 * file.
 */
export async function loadContract(
  file: string,
  { policy, loaded: known, looking = false }: LoadOptions = {},
): Promise<Loaded> {
  const found = await defaultExport(file)
  const loaded = known === undefined ? await findPolicy(file, policy) : known
  const options = looking ? {} : { environment: process.env }
  if (loaded !== null)
    return withPolicy(found as Loaded as Consumer<unknown, SqlTransaction>, loaded, options)
  const defined = Object.isFrozen(found) && (found as { declared?: unknown }).declared !== undefined
  if (defined) return found as Loaded
  return isTransform(found)
    ? defineTransform(found as TransformContract)
    : defineConsumer(found as ConsumerContract<unknown, SqlTransaction>)
}

/** The same for commands that need a consumer with a store. */
export async function loadConsumer(
  file: string,
  options: LoadOptions = {},
): Promise<Consumer<unknown, SqlTransaction>> {
  const loaded = await loadContract(file, options)
  if (!isTransform(loaded)) return loaded
  throw new OncewardError(
    'usage',
    `${file} exports a Kafka transform, which has no store: this command needs a consumer. Nothing was started.`,
  )
}

/** The policy file of a consumer's file, read but not yet applied; null where there is none. */
export async function findPolicy(file: string, named?: string): Promise<Policy | null> {
  const given = named ?? process.env.ONCEWARD_POLICY
  if (given !== undefined) return loadPolicy(resolve(given), given)
  const beside = join(dirname(resolve(file)), policyFileName)
  return existsSync(beside) ? loadPolicy(beside, shownPath(beside, process.cwd())) : null
}

async function defaultExport(file: string): Promise<ConsumerParts | Consumer<unknown, SqlTransaction>> {
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
  if (module.default === null || typeof module.default !== 'object') {
    throw new OncewardError(
      'usage',
      `${file} does not export a consumer as its default. Write "export default defineConsumer({ … })", or defineTransform for Kafka to Kafka.`,
    )
  }
  return module.default as ConsumerParts
}
